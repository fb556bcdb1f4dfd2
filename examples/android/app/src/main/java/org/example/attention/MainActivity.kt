package org.example.attention

import android.app.Activity
import android.os.Bundle
import android.text.Editable
import android.text.TextWatcher
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.TextView

/** A text box, and the model's answer as one types. */
class MainActivity : Activity() {
    private lateinit var model: Model

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        model = Model(this)
        val box = EditText(this).apply { setHint(R.string.hint) }
        val answer = TextView(this).apply { textSize = 28f }
        val note = TextView(this)
        box.addTextChangedListener(object : TextWatcher {
            override fun beforeTextChanged(text: CharSequence, start: Int, count: Int, after: Int) = Unit
            override fun onTextChanged(text: CharSequence, start: Int, before: Int, count: Int) = Unit
            override fun afterTextChanged(text: Editable) {
                val result = model.translate(text.toString())
                answer.text = if (text.isEmpty()) "" else result.text
                note.text = when {
                    text.isEmpty() -> ""
                    result.cut -> getString(R.string.cut, model.longestSource)
                    else -> getString(R.string.sure, 100 * result.confidence)
                }
            }
        })
        setContentView(LinearLayout(this).apply {
            orientation = LinearLayout.VERTICAL
            fitsSystemWindows = true
            listOf(box, answer, note).forEach(::addView)
        })
    }

    override fun onDestroy() {
        model.close()
        super.onDestroy()
    }
}
