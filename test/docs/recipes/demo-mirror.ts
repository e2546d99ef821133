import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/runtime/clock.js';
import { packageRoot } from '../../../src/runtime/package-root.js';
import { fakeIo, rosterd } from '../../cli/fake-io.js';
import { startSeededSandbox } from '../../support/seeded-sandbox.js';

/** One row of totals, as every recipe has to show it. */
export interface Total {
  readonly status: string;
  readonly currency: string;
  readonly raised_cents: number;
}

export interface DemoMirror {
  /** Has `data/mirror.db`, `investments.parquet` and `schema/`, as the recipes name them. */
  readonly folder: string;
  readonly rows: number;
  readonly totals: readonly Total[];
  /** The first day with money, and how much. */
  readonly firstDay: { readonly day: string; readonly raised_cents: number };
  close(): void;
}

/** Makes a mirror of a demonstration platform with the commands, and an export. */
export async function demoMirror(): Promise<DemoMirror> {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-recipes-'));
  const sandbox = await startSeededSandbox({ companies: 1, records: 300, limits: false });
  try {
    const [company] = sandbox.ready.companies;
    if (company === undefined) throw new Error('a sandbox without a company');
    const config = {
      platform: { baseUrl: sandbox.url },
      database: 'sqlite:./data/mirror.db',
      sources: [{ name: 'acme', token: { env: 'ACME' }, company: company.id }],
    };
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    symlinkSync(join(packageRoot, 'schema'), join(folder, 'schema'));
    const run = async (...args: readonly string[]) => {
      const io = fakeIo({ cwd: folder, env: { ACME: company.token }, clock: systemClock });
      const { code, out, err } = await rosterd(args, io);
      if (code !== 0) throw new Error(`rosterd ${args[0]} ended with ${code}: ${err}`);
      return out;
    };
    await run('sync');
    await run('export', '--format', 'parquet', '--out', 'investments.parquet');
    const ask = async <Row>(sql: string) => JSON.parse(await run('query', '--json', sql)) as Row[];
    const [status] = await ask<{ rows: number }>('SELECT rows FROM sync_status');
    const [firstDay] = await ask<DemoMirror['firstDay']>(
      'SELECT day, raised_cents FROM daily_raised WHERE day IS NOT NULL ORDER BY day LIMIT 1',
    );
    return {
      folder,
      rows: status?.rows ?? 0,
      totals: await ask<Total>(
        'SELECT status, currency, sum(raised_cents) AS raised_cents FROM round_totals GROUP BY 1, 2 ORDER BY 1, 2',
      ),
      firstDay: firstDay ?? { day: '', raised_cents: 0 },
      close: () => rmSync(folder, { recursive: true, force: true }),
    };
  } finally {
    await sandbox.close();
  }
}
