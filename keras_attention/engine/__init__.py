"""The whole model in NumPy: what a trained run computes, without TensorFlow and Keras.

Read in this order, it is also the shortest complete description of the model:

1. `architecture`  what kinds of model there are, and which weights each has
2. `weights`       where the weights come from: `model.keras`, safetensors, a live Keras model
3. `cells`         one step of an LSTM or a GRU
4. `encoder`       a source into hidden states
5. `attention`     scores, weights, context
6. `decoder`       one step: a token in, logits of the next token out
7. `search`        steps into answers: greedy and beam search
8. `ensemble`      several models as one
9. `calibration`   the score of an answer into the probability that it is right
10. `edits`        answers under other weights, a given beginning, tokens unseen
11. `blas`         one BLAS thread a call, since whole batches run side by side

Letters in shape comments: n sources (rows), k hypotheses of each, r = n · k, S source length,
T longest output, E embedding size, U units, u units of one direction, d directions, G gates,
V target vocabulary size. All arrays are float32 unless said otherwise.

Hidden states are carried doubled. A sigmoid is `(1 + tanh(x / 2)) / 2`; with the factors moved into
the weights, one `tanh` does all gates of a cell, and `1 + tanh` is the doubled gate. What a cell
gives, `2 o tanh(c)`, is then the doubled hidden state, and every weight that is multiplied with a
hidden state is halved once, when the model is made. Powers of two lose no bit.
"""
