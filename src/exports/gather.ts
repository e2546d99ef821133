/** Pieces are combined up to this size, because one system call per row would dominate the cost. */
const writeCharacters = 64 * 1_024;

export async function* gathered(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let text = '';
  for await (const piece of pieces) {
    text += piece;
    if (text.length < writeCharacters) continue;
    yield text;
    text = '';
  }
  if (text !== '') yield text;
}
