/** Returns which of the addresses in `gone` are somewhere in `bytes`. One may be a part of another, also of one in `shown`. */
export function leftBehind(
  bytes: string,
  gone: readonly string[],
  shown: ReadonlySet<string>,
): readonly string[] {
  // By the letters beside their @, which few other places have. The longest that fits a place is the one that is there.
  const known = new Map<string, string[]>();
  for (const address of [...gone, ...shown].sort((one, other) => other.length - one.length)) {
    const key = beside(address, address.indexOf('@'));
    known.set(key, [...(known.get(key) ?? []), address]);
  }
  const left = new Set<string>();
  for (let at = bytes.indexOf('@'); at >= 0; at = bytes.indexOf('@', at + 1)) {
    const there = known
      .get(beside(bytes, at))
      ?.find((address) => bytes.startsWith(address, at - address.indexOf('@')));
    if (there !== undefined && !shown.has(there)) left.add(there);
  }
  return gone.filter((address) => left.has(address));
}

const beside = (text: string, at: number): string => text.slice(at - 1, at + 2);
