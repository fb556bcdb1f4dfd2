#!/bin/sh
# The three signatures by curl: sh requests.sh NAME [SERVER]
# Not run against the TF Serving binary by this project's tests.
set -eu
model="${2:-http://localhost:8501}/v1/models/$1"

# Is it loaded, and which version?
curl --fail --silent --show-error "$model"

# Strings in, strings and scores out.
curl --fail --silent --show-error "$model:predict" --data '{"instances": ["september 27, 1994", "3/5/21"]}'

# With the attention, by columns.
curl --fail --silent --show-error "$model:predict" \
    --data '{"signature_name": "attention", "inputs": ["september 27, 1994"]}'

# The best of a beam, best first.
curl --fail --silent --show-error "$model:predict" \
    --data '{"signature_name": "beam", "instances": ["september 27, 1994"]}'

# A text of any bytes, also of such that are not UTF-8, in base 64.
curl --fail --silent --show-error "$model:predict" --data '{"instances": [{"b64": "//4zLzUvMjE="}]}'

# What the signatures take and give.
curl --fail --silent --show-error "$model/metadata"
