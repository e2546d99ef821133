import { expect, test } from 'vitest';
import { editor, openDashboard, result, visit, write } from './operator-window.js';

openDashboard();

test('the SQL editor completes columns, runs with the keyboard, and marks the place of a mistake', async () => {
  const { page, complaints } = await visit('/sql');
  await write(page, 'SELECT status, count(*) AS investments FROM investments GROUP BY sta');
  await page.keyboard.press('Control+Space');
  await page.locator('.cm-tooltip-autocomplete').getByText('status', { exact: true }).first().waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.insertText('tus');
  await page.keyboard.press('Control+Enter');
  await result(page).getByText('rows in').waitFor();
  expect(await page.locator('.cm-lineNumbers').textContent()).toContain('1');

  await write(page, 'SELECT id,\n  comitted_cents\nFROM investments');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Did you mean committed_cents?').waitFor();
  expect(await page.locator('.cm-lintRange-error').textContent()).toBe('comitted_cents');
  await editor(page).focus();
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Run');
  expect(complaints).toEqual([]);
});
