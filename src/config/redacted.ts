import { basename } from 'node:path';
import { effectiveSettings, type SettingRow } from './describe.js';
import type { LoadedConfig } from './document.js';

/**
 * Returns every effective value for a bundle that leaves the machine: secrets as `effectiveSettings` shows them, of an
 * address its host alone, of a command its program alone, and no names of users.
 */
export function redactedSettings(loaded: LoadedConfig): readonly SettingRow[] {
  return effectiveSettings(loaded).map((row) => ({ ...row, value: redacted(row) }));
}

function redacted({ path, value }: SettingRow): unknown {
  const command = /\.command\[(\d+)\]$/.exec(path);
  if (command !== null) return command[1] === '0' ? basename(String(value)) : '…';
  if (/(?:^|\.)user$|^console\.auth\.(?:tokens|proxy\.users)\[\d+\]\.name$/.test(path)) return '…';
  return typeof value === 'string' ? withoutAccount(value) : value;
}

function withoutAccount(text: string): string {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return text;
  const { protocol, host, pathname } = url;
  // The path of a web address may contain a key; that of a database is its name.
  const path = protocol.startsWith('postgres') ? pathname : pathname === '/' ? '' : '/…';
  return `${protocol}//${host}${path}`;
}
