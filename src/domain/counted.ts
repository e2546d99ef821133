/** Returns a count with its noun: `1 page`, `1,200 pages`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns the number with thousands separators. Written by hand: a locale would load all of them at every start. */
export function grouped(count: number | bigint): string {
  return String(count).replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, ',');
}
