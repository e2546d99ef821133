import { isDeepStrictEqual } from 'node:util';
import { parsePath, valueAt } from './path.js';
import type { Settings } from './settings.js';

/**
 * Settings that only a restart changes. A running daemon could not go back to the old value if the new one failed: the
 * port may be gone, and the other database has none of the progress. `receiver` and `console` listen or do not, so
 * switching one on or off is a change of its address.
 */
export const fixedSettings = ['database', 'forget.ledger', 'receiver.listen', 'console.listen'] as const;

/** The fixed settings in which two configurations differ. */
export function fixedSettingsChanged(before: Settings, after: Settings): readonly string[] {
  return fixedSettings.filter(
    (name) => !isDeepStrictEqual(valueAt(before, parsePath(name)), valueAt(after, parsePath(name))),
  );
}
