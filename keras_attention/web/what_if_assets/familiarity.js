// How far a source and its answer are like what training saw; `keras_attention/engine/familiarity.py`
// has the definition. A factor of the confidence.
const [FIRST_ID, LAST_ID] = [1, 2]; // of the start and the end symbol
const FACTOR = 2039;
const BITS = 31; // of a word of a table

function unseen(table, ids) {
  table.cells ??= new Int32Array(Uint8Array.from(atob(table.words), (c) => c.charCodeAt(0)).buffer);
  const row = [...Array(table.length - 1).fill(FIRST_ID), ...ids, LAST_ID];
  let count = 0;
  for (let end = table.length; end <= row.length; end++) {
    let cell = 0;
    for (const id of row.slice(end - table.length, end)) cell = (cell * FACTOR + id) % table.size;
    if (!((table.cells[Math.floor(cell / BITS)] >> (cell % BITS)) & 1)) count += 1;
  }
  return table.surprises[Math.min(count, table.surprises.length - 1)];
}

// Between the knots linear, outside constant.
function interpolated(x, knots, values) {
  if (x <= knots[0]) return values[0];
  const next = knots.findIndex((knot) => knot >= x);
  if (next < 0) return values.at(-1);
  const share = (x - knots[next - 1]) / (knots[next] - knots[next - 1]);
  return values[next - 1] + share * (values[next] - values[next - 1]);
}

// `logProbability` is that of the best answer.
export function familiarityFactor(fitted, sourceIds, answerIds, logProbability) {
  const doubt = Math.log(1e-4 - Math.min(logProbability, 0));
  let surprise = interpolated(doubt, fitted.knots, fitted.knot_surprises);
  for (const table of fitted.source) surprise += unseen(table, sourceIds);
  surprise += unseen(fitted.answer, answerIds);
  return 1 / (1 + Math.exp(Math.min((surprise - fitted.threshold) / fitted.width, 30)));
}
