import { counted } from '../../domain/counted.js';
import type { ErasedReceipt } from '../../tasks/erasure-steps.js';
import type { Output } from './output.js';

type Words = Readonly<Record<ErasedReceipt['bytes'], string>>;

const ofFile: Words = {
  scrubbed: 'no bytes of it are left in the database files',
  blocked:
    'another process is using the database file; a running daemon finishes the erasure, or run this command again',
  no_room: 'the disk is too full to rewrite the file; free some space, then run this command again',
};

const ofTables: Words = {
  scrubbed: 'no bytes of it are left in the tables',
  blocked:
    'an older transaction may still see it, or a session uses a table; a running daemon finishes the erasure, or end long transactions and run this command again',
  no_room:
    'the disk of the server is too full to rewrite the tables; free some space, then run this command again',
};

/** Prints what became of the copies of identity that was erased at this time. */
export function showErasedCopies(copies: ErasedReceipt, erasedAt: string, out: Output): void {
  const { bytes, pending, pending_since, other_hosts: onServer } = copies;
  const words = onServer ? ofTables : ofFile;
  if (bytes === 'scrubbed') out.line(words.scrubbed);
  else {
    out.line(`bytes: pending, ${counted(pending, 'erasure')} since ${pending_since ?? erasedAt}`);
    out.warn(words[bytes]);
  }
  for (const file of copies.backups_removed) out.line(`removed ${file}, a backup that contained identity`);
  for (const folder of copies.exports_removed)
    out.line(`removed ${folder}, an export that contained identity`);
  for (const folder of copies.exports_damaged)
    out.warn(
      `${folder} may be an export with names, but its manifest cannot be read: look at it and delete it`,
    );
  if (copies.lake === 'rewritten') out.line('the lake was rewritten without it');
  if (copies.lake === 'pending')
    out.warn(
      'the lake could not be written now; the next rosterd lake sync erases it there, or run this command again',
    );
  if (copies.other_hosts)
    out.warn(
      'exports and lakes with names on other hosts are cleaned by the daemons there, within minutes, if exports.every and lake.every are set; clean all others yourself',
    );
}
