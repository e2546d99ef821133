/** Returns a time in milliseconds as the API writes it: `2026-10-20T09:30:04.000Z`. */
export const iso = (at: number): string => new Date(at).toISOString();

export const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at));
