/** Pieces are gathered up to this size, since a system call a row would be most of the work. */
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
