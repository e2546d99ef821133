/** Why a company, round or post could not be listed as the platform has it. */
export interface Trouble {
  readonly reason: string;
  readonly id: string;
}

/** Returns one sentence for all of them; null when there is none. */
export function troubles(refused: readonly Trouble[]): string | null {
  const [first] = refused;
  if (first === undefined) return null;
  const others = refused.length - 1;
  return `${first.reason} for ${first.id}${others === 0 ? '' : ` and ${others} more`}`;
}
