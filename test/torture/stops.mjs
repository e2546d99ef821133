/*
 * The entry of a process under torture: the real `rosterd`, which sends itself a signal at the nth occurrence of a
 * named step. Plain JavaScript, so that the compiled program runs without a loader.
 */
import diagnostics from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { root, extension, step, nth, signal, pagesMax } = JSON.parse(process.env.ROSTERD_TORTURE ?? '{}');
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
const { PostgresMirror } = await load('store/dialect/postgres/mirror');
for (const { prototype } of [SqliteMirror, PostgresMirror]) {
  around(prototype, 'open', 'the tick opened');
  around(prototype, 'beginListing', 'a listing begins');
  around(prototype, 'addListingPage', 'a listing page');
  around(prototype, 'publishListing', 'a listing is published');
  around(prototype, 'applyPage', 'a delta page');
  around(prototype, 'recordTick', 'the tick is recorded');
}

const { default: Sqlite } = await import('better-sqlite3');
const { exec, pragma } = Sqlite.prototype;
Sqlite.prototype.exec = function (sql) {
  if (sql === 'COMMIT') at('before a commit');
  const result = exec.call(this, sql);
  if (sql === 'COMMIT') at('after a commit');
  return result;
};
const { default: pg } = await import('pg');
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (config, ...more) {
  const commits = config === 'COMMIT' || config?.text === 'COMMIT';
  if (commits) at('before a commit');
  const answer = query.call(this, config, ...more);
  // The pool passes a callback and gets no promise.
  if (commits)
    void answer?.then(
      () => at('after a commit'),
      () => {},
    );
  return answer;
};

/** Limits the disk to this many pages until SIGUSR2 makes room. */
const limited = new Set();
Sqlite.prototype.pragma = function (text, options) {
  const result = pragma.call(this, text, options);
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

const { runCommandLine } = await load('cli/command-line');
await runCommandLine((args) => args);
