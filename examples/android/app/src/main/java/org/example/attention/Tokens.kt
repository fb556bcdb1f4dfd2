package org.example.attention

import org.json.JSONArray
import org.json.JSONObject

/** Texts of one side into tokens and ids and back, for the three kinds that an export can have. */
class Tokens(private val kind: String, vocabulary: List<String?>) {
    private val tokens = vocabulary
    private val ids = vocabulary.withIndex().filter { it.value != null }.associate { it.value!! to it.index }
    private val unknown = vocabulary.lastIndexOf(null) // the last of the reserved ids

    /** Name of the side's tensor. */
    val tensor = if (kind == "char") "code_points" else "token_ids"

    fun split(text: String): List<String> = when (kind) {
        "char" -> text.codePoints().toArray().map { String(Character.toChars(it)) }
        "word" -> text.split(' ', '\t', '\n', '\r', '\u000c', '\u000b').filter { it.isNotEmpty() }
        else -> pieces(text)
    }

    fun idOf(token: String): Int = when {
        kind != "char" -> ids[token] ?: unknown
        token.codePointAt(0) == 0 -> NO_CHARACTER
        else -> token.codePointAt(0)
    }

    fun tokenOf(id: Int): String = if (kind == "char") String(Character.toChars(id)) else tokens[id]!!

    fun join(parts: List<String>): String = when (kind) {
        "word" -> parts.joinToString(" ")
        "subword" -> parts.joinToString("").removePrefix(" ")
        else -> parts.joinToString("")
    }

    /** A space before the text; then from the left the longest piece that fits, or one character. */
    private fun pieces(text: String): List<String> {
        val found = mutableListOf<String>()
        val whole = if (text.isEmpty()) "" else " $text"
        var start = 0
        while (start < whole.length) {
            val one = Character.charCount(whole.codePointAt(start))
            val length = ids.keys.filter { whole.startsWith(it, start) }.maxOfOrNull { it.length } ?: one
            found += whole.substring(start, start + maxOf(length, one))
            start += maxOf(length, one)
        }
        return found
    }

    companion object {
        private const val NO_CHARACTER = -1 // U+0000, since 0 is padding

        /** The side called "source" or "target" in an export's JSON. */
        fun of(side: String, description: JSONObject): Tokens {
            val listed = description.optJSONArray("${side}_vocabulary") ?: JSONArray()
            val vocabulary = List(listed.length()) { if (listed.isNull(it)) null else listed.getString(it) }
            return Tokens(description.getString("${side}_tokens"), vocabulary)
        }
    }
}
