/** Pieces are combined up to this size, because one system call per row would dominate the cost. */
const writeCharacters = 64 * 1_024;

/** A piece of a file: text, or bytes of a binary format. */
export type Piece = string | Uint8Array;

export function gathered(pieces: AsyncIterable<string>): AsyncGenerator<string>;
export function gathered(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece>;
export async function* gathered(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
  let text = '';
  for await (const piece of pieces) {
    if (typeof piece === 'string') {
      text += piece;
      if (text.length < writeCharacters) continue;
    }
    if (text !== '') yield text;
    if (typeof piece !== 'string') yield piece;
    text = '';
  }
  if (text !== '') yield text;
}
