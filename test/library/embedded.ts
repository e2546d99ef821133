import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConfigInput, createMirror, type Mirror } from '../../src/index.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { type Control, controlOf } from '../support/control-sandbox.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';

export interface Embedded {
  /** Has the mirror, as `inner.db`. */
  readonly folder: string;
  readonly sandbox: Sandbox;
  readonly company: Sandbox['ready']['companies'][number];
  readonly mirror: Mirror;
  /** Creates another mirror of the company. The caller stops it. */
  another(settings: Partial<ConfigInput>): Promise<Mirror>;
  readonly control: Control;
  close(): Promise<void>;
}

/** Starts a platform with one company, and a mirror of it in this program. It ticks on request, or once an hour. */
export async function embeddedMirror(settings: Partial<ConfigInput> = {}): Promise<Embedded> {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-embedded-'));
  const sandbox = await startSeededSandbox({ companies: 1, records: 30, limits: false });
  const [company] = sandbox.ready.companies;
  if (company === undefined) throw new Error('a sandbox without a company');
  const another: Embedded['another'] = (more) =>
    createMirror({
      config: {
        platform: { baseUrl: sandbox.url },
        database: 'sqlite:./inner.db',
        sources: [{ name: 'acme', token: { env: 'TOKEN' }, company: company.id }],
        ...more,
      },
      cwd: folder,
      env: { TOKEN: company.token, NOTICE_SECRET: 'a-secret-that-signs-notices-for-tests' },
    });
  const mirror = await another({ sync: { intervalSeconds: 3600 }, ...settings });
  return {
    folder,
    sandbox,
    company,
    mirror,
    another,
    control: controlOf(sandbox),
    async close() {
      await mirror.stop();
      await sandbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
