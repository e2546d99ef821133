/** Longer than any address of the sandbox. */
const reach = 100;

/** Returns which of the addresses in `gone` are somewhere in `bytes`. One may be a part of another, also of one in `shown`. */
export function leftBehind(
  bytes: string,
  gone: readonly string[],
  shown: ReadonlySet<string>,
): readonly string[] {
  const pieces: string[] = [];
  for (let at = bytes.indexOf('@'); at >= 0; at = bytes.indexOf('@', at + 1))
    pieces.push(bytes.slice(Math.max(0, at - reach), at + reach));
  let text = pieces.join('\n');
  const left = new Set<string>();
  for (const address of [...gone, ...shown].sort((one, other) => other.length - one.length)) {
    if (!text.includes(address)) continue;
    if (!shown.has(address)) left.add(address);
    text = text.replaceAll(address, '\n');
  }
  return gone.filter((address) => left.has(address));
}
