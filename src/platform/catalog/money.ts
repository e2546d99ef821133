/** Formats integer cents as decimal dollars. The cents are the exact value. */
export const dollarsOf = (cents: number): string => {
  const whole = Math.abs(cents);
  return `${cents < 0 ? '-' : ''}${Math.floor(whole / 100)}.${String(whole % 100).padStart(2, '0')}`;
};

export const dollarsOrNull = (cents: number | null): string | null =>
  cents === null ? null : dollarsOf(cents);

/** Parses validated decimal dollars with at most two decimals: `99.5` is 9950. */
export function centsOf(dollars: string): number {
  const [whole = '0', fraction = ''] = dollars.split('.');
  return Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
}
