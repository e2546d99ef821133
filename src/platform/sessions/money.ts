/** For people; the API speaks in cents. */
export function written(cents: number, currency: string): string {
  return new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency: currency.toUpperCase(),
    ...(cents % 100 === 0 ? { maximumFractionDigits: 0 } : {}),
  }).format(cents / 100);
}

/** An amount as somebody types it: `2500`, `2,500`, `2500.50`. Null when it is none, or none worth investing. */
export function centsFrom(text: string): number | null {
  const match = /^(\d{1,9})(?:\.(\d{1,2}))?$/.exec(text.replaceAll(/[,\s$€]/g, ''));
  if (match === null) return null;
  const cents = Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'));
  return cents >= 100 ? cents : null;
}
