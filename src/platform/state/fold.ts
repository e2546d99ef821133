/** Normalizes text for case-insensitive comparison, because SQLite's lower() handles only ASCII. */
export const fold = (text: string): string => text.normalize('NFC').toLowerCase();
