import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openOperationsListener } from '../../src/operations/operations.js'
import { operationsPage } from '../../src/studio/operations-page.js'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'operations-page-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

const answers = async (paths: readonly string[]): Promise<readonly Response[]> => {
  const listener = await openOperationsListener({
    address: { host: '127.0.0.1', port: 0 },
    readiness: () => ({ type: 'ready' }),
    scrape: () => Promise.resolve({ contentType: 'text/plain', body: 'metrics' }),
    report: () => Promise.reject(new Error('not here')),
    page: operationsPage(folder),
    onFault: () => undefined,
  })
  try {
    return await Promise.all(paths.map((path) => fetch(listener.url + path)))
  } finally {
    await listener.close()
  }
}

describe('the page at the operations address', () => {
  it('has its files, and a configuration without sessions, tokens, models and projects', async () => {
    await mkdir(join(folder, 'assets'))
    await writeFile(join(folder, 'index.html'), '<title>studio</title>')
    await writeFile(join(folder, 'assets/main.mjs'), '0')
    const [index, script, config, ...others] = await answers([
      '/?a',
      '/assets/main.mjs',
      '/studio/config.json',
      '/studio/token',
      '/assets',
      '/../package.json',
    ])
    expect(await index?.text()).toBe('<title>studio</title>')
    expect(index?.headers.get('content-security-policy')).toContain("default-src 'self'; connect-src 'self'")
    expect(script?.headers.get('content-type')).toContain('text/javascript')
    expect(await config?.json()).toEqual({
      ws: '',
      token: null,
      models: [],
      projects: [],
      metrics: '/metrics',
      operations: '/operations.json',
    })
    expect(others.map(({ status }) => status)).toEqual([404, 404, 404])
  })

  it('does not exist where it is not built', async () => {
    const found = await answers(['/', '/studio/config.json'])
    expect(found.map(({ status }) => status)).toEqual([404, 404])
  })
})
