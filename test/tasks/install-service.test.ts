import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installService, type ServiceMachine } from '../../src/tasks/install-service.js';
import { tempFolder } from '../store/temp-folder.js';

const command = ['/usr/bin/node', '/usr/lib/node_modules/rosterd/bin/rosterd.js'];
const request = { root: '/', command, dryRun: true, force: false, env: {} } as const;
const unitOf = (root: string) => join(root, 'etc/systemd/system/rosterd.service');

const runs = async (config: string) =>
  (await installService({ ...request, config })).steps
    .filter(({ kind }) => kind === 'run')
    .map(({ what }) => what);

test('service install creates the folders of the configuration and the secrets only where they do not exist', async () => {
  const folder = join(tempFolder(), 'our rosterd');
  const config = join(folder, 'config.json');
  const create = (paths: string) => `install -d -m 750 -g rosterd ${paths}`;
  expect(await runs(config)).toContain(create(`"${folder}" "${folder}/secrets"`));
  mkdirSync(folder);
  expect(await runs(config)).toContain(create(`"${folder}/secrets"`));
  mkdirSync(join(folder, 'secrets'));
  expect(await runs(config)).toEqual([
    'systemd-sysusers /etc/sysusers.d/rosterd.conf',
    'systemctl daemon-reload',
  ]);
});

test('service install refuses a configuration in a folder that other programs use', async () => {
  const folder = join(tempFolder(), 'etc');
  const config = join(folder, 'roster.json');
  mkdirSync(join(folder, 'secrets'), { recursive: true });
  for (const name of ['roster.json', 'secrets.env']) writeFileSync(join(folder, name), '{}');
  expect((await installService({ ...request, config })).unit).toContain(`${folder}/secrets.env`);
  writeFileSync(join(folder, 'passwd'), '');
  await expect(installService({ ...request, config, force: true })).rejects.toMatchObject({
    code: 'usage',
    message: `${folder} is not a folder of rosterd alone: it contains passwd`,
    about: { hint: expect.stringContaining('a folder of its own, such as /etc/rosterd') },
  });
});

test('service install refuses a shared folder of an image too, before it writes anything', async () => {
  const root = tempFolder();
  mkdirSync(join(root, 'etc'));
  writeFileSync(join(root, 'etc/passwd'), '');
  const inEtc = { ...request, root, config: '/etc/rosterd.json', dryRun: false };
  await expect(installService(inEtc)).rejects.toMatchObject({ code: 'usage' });
  expect(existsSync(unitOf(root))).toBe(false);
  await installService({ ...inEtc, config: '/etc/rosterd/config.json' });
  expect(readFileSync(unitOf(root), 'utf8')).toContain(`${command.join(' ')} run --config /etc/rosterd/`);
});

test('service install below a file does not advise to run it as root', async () => {
  const root = join(tempFolder(), 'file');
  writeFileSync(root, '');
  await expect(
    installService({ ...request, root, config: '/etc/rosterd/config.json', dryRun: false }),
  ).rejects.toMatchObject({ code: 'usage', about: { hint: 'check that path and its file system' } });
});

test('service install leaves an existing folder as it is, and warns if the service cannot read it', async () => {
  const root = tempFolder();
  const folder = join(root, 'etc/rosterd');
  mkdirSync(folder, { recursive: true });
  const warnings = async () =>
    (await installService({ ...request, root, config: '/etc/rosterd/config.json', dryRun: false })).warnings;
  chmodSync(folder, 0o755);
  expect(await warnings()).toEqual([]);
  chmodSync(folder, 0o700);
  const { uid, gid } = statSync(folder);
  const closed = uid === 0 && gid === 0 ? [expect.stringContaining(`chgrp rosterd ${folder}`)] : [];
  expect(await warnings()).toEqual(closed);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test('service install warns of a Node that systemd hides from the service', async () => {
  const root = tempFolder();
  const { warnings } = await installService({
    ...request,
    root,
    config: '/etc/rosterd/config.json',
    command: ['/home/ann/.nvm/node', '/usr/lib/rosterd.js'],
  });
  expect(warnings).toEqual([expect.stringContaining('systemd hides /home/ann/.nvm/node')]);
});

test('service install warns of a configuration that systemd hides from the service', async () => {
  const root = tempFolder();
  const warningsFor = async (config: string) => (await installService({ ...request, root, config })).warnings;
  for (const config of ['/home/ann/rosterd/config.json', '/root/config.json'])
    expect(await warningsFor(config)).toEqual([expect.stringContaining(`systemd hides ${config} from`)]);
  expect(await warningsFor('/srv/home/rosterd/config.json')).toEqual([]);
});

test('service install warns of a proxy of the shell until the service has one in its own environment', async () => {
  const folder = join(tempFolder(), 'rosterd');
  const config = join(folder, 'config.json');
  const warnings = async (env: Record<string, string>) =>
    (await installService({ ...request, config, env })).warnings.filter((one) => one.includes('PROXY'));
  mkdirSync(folder);
  writeFileSync(join(folder, 'secrets.env'), '# HTTPS_PROXY=\nACME_TOKEN=t\n', { mode: 0o600 });
  for (const name of ['HTTPS_PROXY', 'https_proxy']) {
    const told = await warnings({ [name]: 'http://ann:Zq7secret@proxy.test' });
    expect(told).toEqual([expect.stringContaining(`write both into ${folder}/secrets.env`)]);
    expect(told[0]).not.toContain('Zq7');
  }
  expect(await warnings({ HTTPS_PROXY: '', NO_PROXY: '*' })).toEqual([]);
  writeFileSync(join(folder, 'secrets.env'), 'ACME_TOKEN=t\nhttps_proxy=http://proxy.test\n');
  expect(await warnings({ HTTPS_PROXY: 'http://proxy.test' })).toEqual([]);
});

test('service install changes nothing on a machine that cannot run the service', async () => {
  const done: string[] = [];
  const machine: ServiceMachine = {
    check: () => {
      throw new Error('no systemd here');
    },
    run: async (words) => void done.push(words.join(' ')),
  };
  const config = join(tempFolder(), 'rosterd/config.json');
  await expect(installService({ ...request, dryRun: false, config }, machine)).rejects.toThrow(/no systemd/);
  expect(done).toEqual([]);
});
