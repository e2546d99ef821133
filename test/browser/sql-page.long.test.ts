import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { person } from '../console/running-console.js';
import { signIn } from './dashboard-pages.js';
import {
  editor,
  openDashboard,
  operator,
  result,
  visit,
  visitBySigningIn,
  window,
  world,
  write,
} from './operator-window.js';

openDashboard();

test("one's own queries are saved, loaded and deleted as text, and the history has what ran", async () => {
  const { page, complaints } = await visit('/sql');
  const hostileName = '<img src=x onerror="window.pwned=1">';
  await write(page, "SELECT '<img src=x onerror=window.pwned=1>' AS mark");
  await page.getByLabel('Name', { exact: true }).fill(hostileName);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: hostileName, exact: true }).waitFor();
  await page.keyboard.press('Tab');
  await editor(page).focus();
  await page.keyboard.press('Control+Enter');
  await result(page).getByText('1 row in').waitFor();
  await write(page, 'SELECT 2');
  await page.getByRole('button', { name: hostileName, exact: true }).click();
  expect(await editor(page).textContent()).toContain('AS mark');
  await page.getByRole('heading', { name: 'History' }).click();
  expect(await page.locator('#history button').allTextContents()).toEqual([
    expect.stringContaining('AS mark'),
  ]);
  await page.getByRole('button', { name: `Delete ${hostileName}` }).click();
  expect(await page.locator('#saved li').count()).toBe(0);
  expect(await page.evaluate('window.pwned')).toBeUndefined();
  expect(complaints).toEqual([]);
});

test('the SQL page works while its editor loads, and typing goes on where it was', async () => {
  const { context, page, complaints } = await window();
  await signIn(context, world, operator);
  let load = () => {};
  const loaded = new Promise<void>((resolve) => {
    load = resolve;
  });
  await page.route('**/editor.js', async (route) => {
    await loaded;
    await route.continue();
  });
  await page.goto(`${world.url}/sql`, { waitUntil: 'commit' });
  await page.getByRole('button', { name: 'Copy link' }).waitFor();
  await page.getByLabel('As of').fill('2026-10-15');
  await expect.poll(() => new URL(page.url()).search).toBe('?as-of=2026-10-15');
  await page.getByLabel(/One read-only statement/).fill('SELECT AS answer');
  for (let left = ' AS answer'.length; left > 0; left -= 1) await page.keyboard.press('ArrowLeft');
  load();
  await editor(page).waitFor();
  await page.keyboard.type(' 41 + 1');
  await page.keyboard.press('Control+Enter');
  await result(page).getByText('42').waitFor();
  expect(new URL(page.url()).search).toBe('?as-of=2026-10-15');
  expect(complaints).toEqual([]);
});

test('the legend of a chart over hours says which hour it is about', async () => {
  const { page, complaints } = await visit('/sql');
  const hours = [11, 12, 13].map((hour) => `('2026-10-20 ${hour}:00', ${hour * 2})`);
  await write(page, `WITH t(hour, investments) AS (VALUES ${hours}) SELECT * FROM t`);
  await page.keyboard.press('Control+Enter');
  await page.locator('#result .u-over').hover();
  expect(await page.locator('#result .readout').textContent()).toBe('2026-10-20 12:00 · investments 24');
  expect(complaints).toEqual([]);
});

test('a download leaves the SQL page as it is, without words that it is loading', async () => {
  const { context, page, complaints } = await window();
  await signIn(context, world, operator);
  await page.clock.install();
  await page.goto(`${world.url}/sql?query=by-status`);
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'JSON Lines' }).click(),
  ]);
  await file.path();
  await page.clock.runFor(5_000);
  expect(await page.locator('.pending').count()).toBe(0);
  expect(await page.locator('#main').getAttribute('aria-busy')).toBeNull();
  expect(complaints).toEqual([]);
});

test("saved queries of a planted list in the browser's store are shown as text", async () => {
  const { page, complaints } = await visit('/sql');
  await page.evaluate(
    `localStorage.setItem('rosterd.sql.token:oleg.saved', JSON.stringify([{ name: '<script>window.pwned=1</script>', sql: 'SELECT 1' }, { name: 7, sql: {} }, null]))`,
  );
  await page.reload();
  await page.getByRole('button', { name: '<script>window.pwned=1</script>', exact: true }).waitFor();
  expect(await page.evaluate('window.pwned')).toBeUndefined();
  expect(complaints).toEqual([]);
});

test('a link opens the statement without names and without running it', async () => {
  const { page, context, complaints } = await visit('/sql');
  await write(
    page,
    `SELECT id -- of ${person}\nFROM investments WHERE status = 'active' AND id = 'inv_ada' AND 'x' <> '${person}'`,
  );
  await page.getByRole('button', { name: 'Copy link' }).click();
  const link = await page.getByLabel('Link to this statement').inputValue();
  expect(decodeURIComponent(link)).not.toMatch(/lovelace/i);
  expect(new URL(link).search).toBe('');
  await page.getByText('2 texts that could be a name were left out').waitFor();

  const other = await context.newPage();
  await other.goto(link);
  await other.getByText('Read it before you run it').waitFor();
  const text = await editor(other).textContent();
  expect(text).toContain("status = 'active' AND id = 'inv_ada' AND '…' <> '…'");
  expect([await result(other).count(), new URL(other.url()).hash]).toEqual([0, '']);
  // On the page itself, the address of another link changes nothing but the fragment.
  await other.goto(`${world.url}/sql#sql=SELECT%207`);
  await expect.poll(() => editor(other).textContent()).toBe('SELECT 7');
  expect([await result(other).count(), new URL(other.url()).hash]).toEqual([0, '']);
  expect(complaints).toEqual([]);
});

test('without script the SQL page is a plain form with its tables', async () => {
  const { page } = await visitBySigningIn('/sql', false);
  await page.getByLabel(/One read-only statement/).fill('SELECT 41 + 1 AS answer');
  await page.getByRole('button', { name: 'Run' }).click();
  await result(page).getByText('42').waitFor();
  expect(await page.getByRole('button', { name: 'Copy link' }).isVisible()).toBe(false);
  await page.getByText('Tables and columns').click();
  await page.getByText('investments', { exact: true }).first().waitFor();
});

test('an operator pauses and resumes a source in the browser, with the keyboard', async () => {
  const { page, complaints } = await visitBySigningIn('/actions');
  await page.getByRole('link', { name: 'Pause acme' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Pause acme?' }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('acme is paused.').waitFor();
  await page.reload();
  expect(await page.getByText('acme is paused.').count()).toBe(0);
  await page.getByRole('link', { name: 'Resume acme' }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('acme goes on within a second.').waitFor();
  await page.getByRole('link', { name: 'Audit', exact: true }).click();
  await page.getByRole('cell', { name: 'token:oleg' }).first().waitFor();
  expect(complaints).toEqual([]);
});

test('the pages of operators and the SQL page fit a phone, and an accessibility check finds nothing serious', async () => {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const { context, page, complaints } = await window();
  await signIn(context, world, operator);
  for (const path of ['/actions', '/actions/pause?source=acme', '/audit', '/sql']) {
    await page.setViewportSize({ width: 320, height: 800 });
    await page.goto(world.url + path);
    if (path === '/sql') {
      await editor(page).waitFor();
      await page.getByText('Tables and columns').click();
      await page.locator('[data-table="investments"] > summary').click();
    }
    const wider = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    await page.setViewportSize({ width: 1280, height: 800 });
    // Injected through the debugger, because the policy of the page would refuse this test script.
    await page.evaluate(axe);
    const found = await page.evaluate<string[]>(
      `axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
        violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
    );
    expect([path, wider, found]).toEqual([path, 0, []]);
  }
  expect(complaints).toEqual([]);
});
