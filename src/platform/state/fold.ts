/** How text is compared when case does not matter: SQLite's own lower() knows no letter beyond ASCII. */
export const fold = (text: string): string => text.normalize('NFC').toLowerCase();
