/*
 * The entry of a process under torture: the real `rosterd`, which sends itself a signal at the nth occurrence of a
 * named step. Plain JavaScript, so that the compiled program runs without a loader.
 */
import diagnostics from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { root, extension, step, nth, signal, pagesMax, outlast } = JSON.parse(
  process.env.ROSTERD_TORTURE ?? '{}',
);
delete process.env.ROSTERD_TORTURE;
const load = (path) => import(pathToFileURL(join(root, `${path}.${extension}`)).href);

let left = nth;
const at = (name) => {
  if (name !== step) return;
  left -= 1;
  if (left !== 0) return;
  writeSync(2, `came to: ${step}\n`);
  process.kill(process.pid, signal);
};

/** Reports `before X` and `after X` around a method of every instance. */
function around(prototype, method, name) {
  const original = prototype[method];
  prototype[method] = async function (...args) {
    at(`before ${name}`);
    const result = await original.apply(this, args);
    at(`after ${name}`);
    return result;
  };
}

const { Inbox } = await load('store/inbox');
around(Inbox.prototype, 'accept', 'the inbox row');
around(Inbox.prototype, 'pending', 'the drain picked');
around(Inbox.prototype, 'settle', 'the worked mark');
const { SqliteMirror } = await load('store/dialect/sqlite/mirror');
around(SqliteMirror.prototype, 'open', 'the tick opened');
around(SqliteMirror.prototype, 'beginListing', 'a listing begins');
around(SqliteMirror.prototype, 'addListingPage', 'a listing page');
around(SqliteMirror.prototype, 'publishListing', 'a listing is published');
around(SqliteMirror.prototype, 'applyPage', 'a delta page');
around(SqliteMirror.prototype, 'recordTick', 'the tick is recorded');

const { default: Sqlite } = await import('better-sqlite3');
const { exec, pragma } = Sqlite.prototype;
Sqlite.prototype.exec = function (sql) {
  if (sql === 'COMMIT') at('before a commit');
  const result = exec.call(this, sql);
  if (sql === 'COMMIT') at('after a commit');
  return result;
};
/** Limits the disk to this many pages until SIGUSR2 makes room. */
const limited = new Set();
let file;
Sqlite.prototype.pragma = function (text, options) {
  const result = pragma.call(this, text, options);
  if (text === 'journal_mode = WAL') file = this.name;
  if (pagesMax !== undefined && text === 'journal_mode = WAL') {
    limited.add(this);
    pragma.call(this, `max_page_count = ${pagesMax}`);
  }
  return result;
};
if (pagesMax !== undefined)
  process.on('SIGUSR2', () => {
    for (const database of limited) if (database.open) pragma.call(database, 'max_page_count = 1000000');
  });

diagnostics.subscribe('http.server.request.start', ({ request }) => {
  if (request.method === 'POST') at('a delivery arrived');
});
diagnostics.subscribe('http.server.response.finish', ({ request }) => {
  if (request.method === 'POST') at('a delivery answered');
});
diagnostics.subscribe('undici:request:create', ({ request }) => {
  if (request.path.startsWith('/investments')) at('a page asked for');
});
diagnostics.subscribe('undici:request:trailers', ({ request }) => {
  if (request.path.startsWith('/investments')) at('a page fetched');
});

// Replaces the half minute until the lease of a dead holder expires.
const { open } = SqliteMirror.prototype;
let outlasted = outlast !== true;
SqliteMirror.prototype.open = async function (...args) {
  if (!outlasted) {
    outlasted = true;
    const database = new Sqlite(file);
    database.prepare("UPDATE leases SET expires_at = '2000-01-01T00:00:00.000Z'").run();
    database.close();
  }
  return await open.apply(this, args);
};

const { runCommandLine } = await load('cli/command-line');
await runCommandLine((args) => args);
