import { isDeepStrictEqual } from 'node:util';
import { parsePath, valueAt } from './path.js';
import type { Settings } from './settings.js';

/**
 * Settings that only a restart changes. A running daemon could not return to the old value if the new one failed:
 * another process may have taken the port, and the other database does not have the sync progress. Enabling or
 * disabling `receiver` or `console` also counts as a change of its address.
 */
export const fixedSettings = ['database', 'forget.ledger', 'receiver.listen', 'console.listen'] as const;

/** Returns the fixed settings that differ between two configurations. */
export function fixedSettingsChanged(before: Settings, after: Settings): readonly string[] {
  return fixedSettings.filter(
    (name) => !isDeepStrictEqual(valueAt(before, parsePath(name)), valueAt(after, parsePath(name))),
  );
}
