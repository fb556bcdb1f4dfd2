"""Draws where a model looks while it translates a text: an attention heatmap as a picture."""

from __future__ import annotations

from keras_attention.commands import (
    MODEL_HELP,
    add_engine_option,
    load_attention_translator,
    tell_of_exceptions,
    texts_of_arguments,
    verb_parser,
)


def run(arguments: list[str]) -> None:
    parser = verb_parser("plot", __doc__)
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("texts", metavar="TEXT", nargs="+", help="several are drawn side by side")
    parser.add_argument(
        "--out",
        default="attention.png",
        metavar="FILE",
        help=".png, .svg or .pdf by its suffix (default: attention.png)",
    )
    parser.add_argument(
        "--style",
        choices=("colour", "grey"),
        default="colour",
        help="light to dark blue, or black to white as in the article (default: colour)",
    )
    add_engine_option(parser)
    options = parser.parse_intermixed_args(arguments)
    translator = load_attention_translator(options.model, "plot", options.engine)
    from keras_attention.plots.heatmap import plot_attention_grid, save_figure

    texts = texts_of_arguments(options.texts)
    translations = translator.translate(texts)
    tell_of_exceptions(texts, translations)
    titles = [f"{text} → {t.text}" for text, t in zip(texts, translations, strict=True)]
    figure = plot_attention_grid(translations, titles=titles, style=options.style)
    print(save_figure(figure, options.out))
