"""A REST client for TF Serving, or for `python -m keras_attention serve`; standard library only.

    python translate.py --name dates "september 27, 1994"
    python translate.py --name dates --attention "september 27, 1994"

Not run against the TF Serving binary by this project's tests; they run it against a server that
answers as TF Serving's sources do.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request


def predict(url: str, texts: list[str], signature: str = "serving_default") -> list[dict]:
    """One dict of the signature's outputs for each text.

    Raises:
        RuntimeError: the server refuses the request, with its reason.
        OSError: there is no server.
    """
    body = {"signature_name": signature, "instances": texts}
    request = urllib.request.Request(
        f"{url}:predict", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)["predictions"]
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{error.code}: {json.load(error)['error']}") from None


def attention_of(row: dict) -> list[tuple[str, list[tuple[str, float]]]]:
    """Each target token of an `attention` answer with the source tokens and their weights.

    Answers of one request are padded to the longest, so each is cut at its own lengths.
    """
    sources = row["source_tokens"][: row["source_length"]]
    targets = row["target_tokens"][: row["target_length"]]
    return [
        (target, list(zip(sources, weights, strict=False)))
        for target, weights in zip(targets, row["attention_weights"], strict=False)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", metavar="TEXT", nargs="+")
    parser.add_argument("--name", required=True, help="of the model, NAME in EXPORT/serving/NAME")
    parser.add_argument("--server", default="http://localhost:8501", metavar="URL")
    parser.add_argument("--attention", action="store_true", help="also where each token looked")
    options = parser.parse_args()
    url = f"{options.server}/v1/models/{urllib.request.quote(options.name, safe='')}"
    signature = "attention" if options.attention else "serving_default"
    try:
        rows = predict(url, options.texts, signature)
    except (OSError, RuntimeError) as error:
        print(f"error: {url}: {error}", file=sys.stderr)
        return 1
    for row in rows:
        print(f"{row['text']}\t{row['log_probability']:.4f}\t{row['confidence']:.4f}")
        for target, weights in attention_of(row) if options.attention else ():
            source, weight = max(weights, key=lambda pair: pair[1], default=("", 0.0))
            print(f"  {target} looked at {source!r} ({weight:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
