import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { packageRoot } from '../../src/runtime/package-root.js';

/**
 * Starts a real browser: the one named by ROSTERD_TEST_BROWSER, or the Chromium of the development dependencies.
 * Its default arguments are not used, because they disable web security, which a test of a content security policy
 * needs.
 */
export async function launchBrowser(): Promise<Browser> {
  const named = process.env.ROSTERD_TEST_BROWSER;
  if (named !== undefined && named !== '')
    return patient(await chromium.launch({ executablePath: named, args, timeout }));
  const folder = await unpacked();
  const env = { ...process.env, ...librariesIn(folder) } as Record<string, string>;
  const executablePath = join(folder, 'chromium');
  return patient(await chromium.launch({ executablePath, args, env, timeout }));
}

/**
 * A page lives for a second here. To compile its scripts a second time, to faster code, and to collect its garbage early
 * takes more processor time than it saves.
 */
const args = [
  '--no-sandbox',
  '--js-flags=--no-opt --no-maglev --min-semi-space-size=16',
  // One process less for each browser.
  '--enable-features=NetworkServiceInProcess2',
];

/** For what hangs: on a busy machine a page may take many times as long as usual. Playwright waits for 30 s. */
const timeout = 120_000;

function patient(browser: Browser): Browser {
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    context.setDefaultTimeout(timeout);
    return context;
  };
  return browser;
}

/** Libraries that a machine without a desktop lacks. */
const librariesIn = (folder: string) => ({
  LD_LIBRARY_PATH: [join(folder, 'al2023', 'lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
  FONTCONFIG_FILE: join(folder, fontsFile),
});

const fontsFile = 'rosterd-fonts.conf';

/**
 * The package's own file looks for fonts where the package would unpack them; without fonts the browser crashes.
 */
const fontsIn = (folder: string) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${join(folder, 'fonts')}</dir><cachedir>${join(folder, 'fonts-cache')}</cachedir></fontconfig>
`;

/** Outlives a run: to unpack a browser takes several seconds of CPU time. */
const caches = join(packageRoot, '.cache');

/**
 * The package unpacks into the temporary folder and uses any file that exists there. If two test files start
 * together, one could start a browser that the other is still writing. So each unpacks into its own folder, and
 * the first to finish renames it into place.
 */
async function unpacked(): Promise<string> {
  const manifest = await readFile(join(packageRoot, 'node_modules/@sparticuz/chromium/package.json'), 'utf8');
  const folder = join(caches, `chromium-${JSON.parse(manifest).version}-with-fonts`);
  if (existsSync(folder)) return folder;
  await mkdir(caches, { recursive: true });
  const aside = await mkdtemp(`${folder}-`);
  const script = `(await import('@sparticuz/chromium')).default.executablePath()`;
  const env = { ...process.env, TMPDIR: aside, AWS_LAMBDA_JS_RUNTIME: 'nodejs20.x' };
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: packageRoot,
    env,
  });
  await writeFile(join(aside, fontsFile), fontsIn(folder));
  await rename(aside, folder).catch(async (error: NodeJS.ErrnoException) => {
    await rm(aside, { recursive: true, force: true });
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
  return folder;
}
