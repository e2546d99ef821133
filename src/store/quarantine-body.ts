/** Enough to see what is wrong with any record; a hostile one must not fill the disk. */
const bytesMax = 64 * 1_024;

export function cappedBody(body: string): string {
  if (Buffer.byteLength(body) <= bytesMax) return body;
  // Decoding drops nothing but turns a character cut in two into U+FFFD, which may be longer: hence the margin.
  return Buffer.from(body)
    .subarray(0, bytesMax - 3)
    .toString();
}
