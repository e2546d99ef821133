import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { tempFolder } from '../store/temp-folder.js';
import { fakeIo, rosterd } from './fake-io.js';

const install = (root: string, ...args: string[]) =>
  rosterd(['service', 'install', '--root', root, ...args], fakeIo({ cwd: root }));
const unitIn = (root: string) => join(root, 'etc/systemd/system/rosterd.service');
const packaged = (name: string) => readFileSync(join(packageRoot, 'packaging/systemd', name), 'utf8');

test('service install writes the packaged unit with the paths of this installation, and its user', async () => {
  const root = tempFolder();
  const { code, out, err } = await install(root);
  expect([code, out]).toEqual([
    0,
    `write  ${unitIn(root)}\nwrite  ${join(root, 'etc/sysusers.d/rosterd.conf')}\n`,
  ]);
  expect(err).toContain('Next: write /etc/rosterd/config.json, then systemctl enable --now rosterd');
  const unit = readFileSync(unitIn(root), 'utf8');
  const [start] = unit.match(/^ExecStart=.*$/m) ?? [];
  const [, node = '', script = ''] =
    /^ExecStart=(\S+) (\S+) run --config \/etc\/rosterd\/config\.json$/.exec(start ?? '') ?? [];
  expect([existsSync(node), existsSync(script)]).toEqual([true, true]);
  const line = /^ExecStart=.*$/m;
  expect(unit.replace(line, '')).toBe(packaged('rosterd.service').replace(line, ''));
  expect(readFileSync(join(root, 'etc/sysusers.d/rosterd.conf'), 'utf8')).toBe(
    packaged('rosterd.sysusers.conf'),
  );
  expect(statSync(unitIn(root)).mode & 0o777).toBe(0o644);
  expect((await install(root)).out).toMatch(/^unchanged {2}.*\nunchanged {2}/);
});

test('service install --dry-run prints the steps, the commands and the unit, and changes nothing', async () => {
  const root = tempFolder();
  const image = await install(root, '--dry-run');
  expect([image.code, image.out]).toEqual([0, expect.stringContaining(`would write  ${unitIn(root)}\n`)]);
  expect(image.out).toContain('\n[Service]\n');
  expect(existsSync(join(root, 'etc'))).toBe(false);
  const env = { HTTPS_PROXY: 'http://proxy.test:3128' };
  const here = await rosterd(['service', 'install', '--dry-run'], fakeIo({ env }));
  expect(here.err).toContain(
    'HTTPS_PROXY and NO_PROXY of this shell are not in the environment of the service',
  );
  expect(here.out).toMatch(/^would run {2}systemd-sysusers \/etc\/sysusers\.d\/rosterd\.conf$/m);
  expect(here.out).toMatch(/^would run {2}systemctl daemon-reload$/m);
});

test('service install puts another configuration into the unit, quoted for systemd', async () => {
  const root = tempFolder();
  expect((await install(root, '--config', '/srv/my data/100%/rosterd.json')).code).toBe(0);
  const unit = readFileSync(unitIn(root), 'utf8');
  expect(unit).toMatch(/^ExecStart=.* run --config "\/srv\/my data\/100%%\/rosterd\.json"$/m);
  expect(unit).toContain('\nEnvironmentFile=-/srv/my data/100%%/secrets.env\n');
});

test('service install replaces a unit that differs only with --force', async () => {
  const root = tempFolder();
  await install(root);
  writeFileSync(unitIn(root), '[Service]\nExecStart=/mine\n');
  const refused = await install(root);
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringMatching(/rosterd\.service exists and differs\nTry: .*--dry-run/),
  ]);
  expect(readFileSync(unitIn(root), 'utf8')).toContain('/mine');
  expect((await install(root, '--force')).code).toBe(0);
  expect(readFileSync(unitIn(root), 'utf8')).not.toContain('/mine');
});
