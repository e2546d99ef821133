import { resolve } from 'node:path';
import { grouped } from '../../domain/counted.js';
import { Fault, isFault } from '../../domain/fault.js';
import { shellWord } from '../../domain/shell-word.js';
import type { Demo } from '../../tasks/demo.js';
import type { Command, CommandContext } from '../command.js';
import { databaseFromFlag, defaultDatabase } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { untilAborted } from '../until-aborted.js';

/** Ready to paste; a test runs each of them. */
export const demoQueries = [
  'SELECT source, count(*) AS investments, sum(raised_cents) / 100 AS raised FROM investments GROUP BY source',
  'SELECT at, source, kind, fields FROM changes ORDER BY seq DESC LIMIT 10',
  "SELECT name, status, committed_cents / 100 AS committed FROM roster WHERE status = 'active' ORDER BY committed_cents DESC LIMIT 10",
] as const;

export const demo: Command = {
  name: 'demo',
  summary: 'Try rosterd: a made-up platform and the daemon in one process',
  examples: [
    ['rosterd demo', 'mirrors made-up investors into ./data/mirror.db until Ctrl-C'],
    ['rosterd demo --records 20000 --pause 200', 'more investors and more frequent changes'],
  ],
  options: [
    { flags: '--database <file>', summary: 'where the mirror goes (default: ./data/mirror.db)' },
    { flags: '--seed <number>', summary: 'seed of the made-up data (default: 1)' },
    { flags: '--companies <number>', summary: 'number of companies (default: 3)' },
    { flags: '--records <number>', summary: 'investments per company (default: 1500)' },
    { flags: '--pause <milliseconds>', summary: 'mean pause between two changes (default: 2000)' },
  ],
  async run({ io, out, options, signal, blocking }) {
    const file = await fileOf(options.text('database') ?? defaultDatabase, io.cwd);
    const [{ startDemo }, { createLogger }, { systemRandom }] = await Promise.all([
      import('../../tasks/demo.js'),
      import('../../daemon/logging.js'),
      import('../../runtime/random.js'),
    ]);
    const sandbox = {
      seed: options.whole('seed', { min: 0, max: 2 ** 32 - 1 }) ?? 1,
      companies: options.whole('companies', { min: 1, max: 100 }) ?? 3,
      records: options.whole('records', { min: 1, max: 1_000_000 }) ?? 1_500,
      // A demonstration with many pages would spend most of its time waiting for the hourly request quota.
      limits: false,
    };
    const pauseMillis = options.whole('pause', { min: 1, max: 3_600_000 }) ?? 2_000;
    out.note('starting a made-up platform and mirroring it …');
    const running = await startDemo({
      file,
      sandbox,
      pauseMillis,
      clock: io.clock,
      random: systemRandom,
      logger: createLogger({
        level: 'warn',
        format: 'auto',
        stream: io.stderr,
        color: false,
        clock: io.clock,
      }),
      onTick: (source, { report }) => {
        const { added, changed, removed } = report.applied;
        if (added + changed + removed === 0) return;
        out.note(
          `${report.startedAt.slice(11, 19)}  ${source}: ${added} added, ${changed} changed, ${removed} removed ` +
            `(${report.trigger}, ${report.tookMs} ms)`,
        );
      },
      blocking,
      signal,
    }).catch((error: unknown) => {
      if (signal.aborted && isFault(error, 'stopped')) return null;
      throw error;
    });
    if (running === null) return exitCodes.done;
    // A signal may have come while it started.
    if (!signal.aborted) introduce(running, file, io.cwd, out);
    await untilAborted(signal);
    await running.close();
    return exitCodes.done;
  },
};

/** Throws `usage` for the address of a server. */
async function fileOf(database: string, cwd: string): Promise<string> {
  const location = await databaseFromFlag(database, cwd, '--database');
  if ('file' in location) return location.file;
  throw new Fault('usage', 'the demonstration needs a SQLite file, and --database names a server', {
    hint: '--database ./demo.db',
  });
}

function introduce(running: Demo, file: string, cwd: string, out: CommandContext['out']): void {
  const { ready } = running.sandbox;
  const where = file === resolve(cwd, defaultDatabase) ? '' : ` --database ${shellWord(file)}`;
  out.line(`platform   ${ready.baseUrl}   (control: ${ready.control})`);
  out.line(`webhooks   ${running.receiverUrl}`);
  out.line(`dashboard  ${running.daemon.consoleUrl ?? ''}/   (and /status.json, /metrics, /healthz)`);
  out.line(
    `mirror     ${file}   ${grouped(running.rows)} investments of ${ready.companies.length} companies`,
  );
  out.line();
  out.line('Open it read-only with any SQLite client, or try in another terminal:');
  for (const sql of demoQueries) out.line(`  npx rosterd query${where} ${shellWord(sql)}`);
  out.line();
  out.note('changes appear below as they happen; Ctrl-C stops the demo');
}
