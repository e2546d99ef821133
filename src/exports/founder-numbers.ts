/** Formats money as the founder file does: at least one digit after the point, and no unnecessary zero. */
export function decimalOfCents(cents: bigint): string {
  const digits = String(cents < 0n ? -cents : cents).padStart(3, '0');
  const fraction = digits.slice(-2);
  const shown = fraction.endsWith('0') ? fraction.slice(0, 1) : fraction;
  return `${cents < 0n ? '-' : ''}${digits.slice(0, -2)}.${shown}`;
}

/** Truncates, without rounding, to two digits after the point and removes trailing zeros. */
export function truncatedShares(shares: string): string {
  const match = /^(-?\d+)(?:\.(\d+))?$/.exec(shares);
  if (match === null) return shares;
  const fraction = (match[2] ?? '').slice(0, 2).replace(/0+$/, '');
  return fraction === '' ? (match[1] ?? '') : `${match[1]}.${fraction}`;
}
