import { type Browser, chromium } from 'playwright-core';

/**
 * A real browser for pages: the one ROSTERD_TEST_BROWSER names, else the Chromium that comes with the development
 * dependencies. Its own default arguments are not used: they switch web security off, which a test of a content
 * security policy must not do.
 */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: await browserPath(), args: ['--no-sandbox'] });
}

async function browserPath(): Promise<string> {
  const named = process.env.ROSTERD_TEST_BROWSER;
  if (named !== undefined && named !== '') return named;
  // Read when the package is imported: it then unpacks the NSS libraries this machine may lack.
  process.env.AWS_LAMBDA_JS_RUNTIME ??= 'nodejs20.x';
  const { default: packaged } = await import('@sparticuz/chromium');
  return packaged.executablePath();
}
