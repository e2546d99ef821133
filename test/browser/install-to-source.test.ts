import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import type { AskedRequest } from '../../src/platform/sandbox/requests.js';
import { control, freshFolder, partsFor, sandboxFor } from '../daemon/daemon-fixture.js';
import { followingConfig } from '../daemon/following-fixture.js';
import { freePort } from '../support/free-port.js';
import { launchBrowser } from './browser.js';
import { visit } from './looks.js';

test('a founder installs in the browser, and a running daemon lists the company without waiting for its hourly listing', async () => {
  const world = await sandboxFor({ limits: false, companies: 2, records: 20, installed: 0.5 });
  const folder = freshFolder();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/webhooks`;
  const events = ['installation.created', 'installation.revoked'];
  const { secret } = (await control(world, 'POST', '/webhooks', { url, events })) as { secret: string };
  const config = followingConfig(world, { folder, receiver: { port, secret } });
  const daemon = await startDaemon(partsFor(config));
  onTestFinished(() => daemon.close());
  const mirror = new Database(join(folder, 'mirror.db'), { readonly: true });
  onTestFinished(() => void mirror.close());
  const listed = () =>
    mirror.prepare('SELECT DISTINCT company_id FROM investments ORDER BY 1').pluck().all() as string[];
  await expect.poll(listed).toEqual([world.ready.companies[0]?.id]);

  const [company] = world.ready.uninstalled;
  const founder = world.ready.users.find(({ id }) => id === company?.founder)?.email ?? '';
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  await visit(browser, { width: 1280 }, async (page) => {
    await page.goto(`${world.url}/install/${world.ready.apps[0]?.clientId}?state=st_1`);
    await page.getByLabel('Email address').fill(founder);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: `Install on ${company?.name}` }).click();
    await page.getByText(`${company?.name} has ${world.ready.apps[0]?.name} now.`).waitFor();
  });
  await expect.poll(listed).toHaveLength(2);
  expect(listed()).toContain(company?.id);
  const asked = (await control(world, 'GET', '/requests')) as { requests: AskedRequest[] };
  const lists = asked.requests.filter(({ method, path }) => method === 'GET' && path === '/installations');
  expect(lists).toHaveLength(1);
});
