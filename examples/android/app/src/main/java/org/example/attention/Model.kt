package org.example.attention

import android.content.Context
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.text.Normalizer
import org.json.JSONObject
import org.tensorflow.lite.Interpreter

/** An answer; `weights[t][s]` says how much target token t looked at source token s. */
class Answer(
    val text: String,
    val confidence: Float,
    val cut: Boolean,
    val sourceTokens: List<String>,
    val targetTokens: List<String>,
    val weights: List<List<Float>>?,
)

/** The model of an export, by what its JSON says. Of one thread; close it at the end. */
class Model(context: Context) : AutoCloseable {
    private val description =
        JSONObject(context.assets.open("model.json").use { it.readBytes().decodeToString() })
    private val signature = description.getString("signature")
    private val form = description.getString("normal_form")
    private val source = Tokens.of("source", description)
    private val target = Tokens.of("target", description)
    private val interpreter = Interpreter(
        context.assets.open("model.tflite").use { it.readBytes() }.let { content ->
            ByteBuffer.allocateDirect(content.size).order(ByteOrder.nativeOrder()).put(content).apply { rewind() }
        }
    )

    /** Tokens of the longest source that is read whole. */
    val longestSource = description.getInt("longest_source")
    private val longestOutput = description.getInt("longest_output")

    fun translate(text: String): Answer {
        val given = if (form == "none") text else Normalizer.normalize(text, Normalizer.Form.valueOf(form))
        val all = source.split(given)
        val tokens = all.take(longestSource)
        val ids = IntArray(longestSource) // zeros are padding
        tokens.forEachIndexed { place, token -> ids[place] = source.idOf(token) }

        val answer = arrayOf(IntArray(longestOutput))
        val weights = arrayOf(Array(longestOutput) { FloatArray(longestSource) })
        val confidence = FloatArray(1)
        val outputs = mutableMapOf<String, Any>(target.tensor to answer, "confidence" to confidence)
        val hasAttention = "attention_weights" in interpreter.getSignatureOutputs(signature)
        if (hasAttention) outputs["attention_weights"] = weights
        interpreter.runSignature(mapOf<String, Any>(source.tensor to arrayOf(ids)), outputs, signature)

        val targetTokens = answer[0].takeWhile { it != 0 }.map(target::tokenOf)
        val rows = targetTokens.indices.map { weights[0][it].take(tokens.size) }
        return Answer(
            target.join(targetTokens), confidence[0], all.size > longestSource, tokens, targetTokens,
            rows.takeIf { hasAttention },
        )
    }

    override fun close() = interpreter.close()
}
