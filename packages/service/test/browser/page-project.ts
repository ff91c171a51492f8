import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { build, createServer } from 'vite'
import { checkout } from '../../../../test/docs/run-program.js'

/** A page that is served. */
export interface ServedPage {
  readonly url: string
  readonly close: () => Promise<void>
}

/** A project of a page, with rxspeech installed as from the registry. */
export interface PageProject {
  readonly folder: string
  readonly remove: () => void
}

/**
 * What a page needs of the package in node_modules; a link would make Vite take it for sources of the project.
 *
 * @param packages of the registry, such as `vue@3.5.45`, which the checkout does not have
 */
export const createPageProject = (
  files: Readonly<Record<string, string>>,
  packages: readonly string[] = [],
): PageProject => {
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-page-'))
  if (packages.length > 0) {
    const flags = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
    execFileSync('npm', ['install', ...flags, '--loglevel=error', ...packages], { cwd: folder, stdio: 'pipe' })
  }
  const installed = join(folder, 'node_modules/rxspeech')
  mkdirSync(installed, { recursive: true })
  cpSync(join(checkout, 'package.json'), join(installed, 'package.json'))
  cpSync(join(checkout, 'dist/esm'), join(installed, 'dist/esm'), { recursive: true })
  const isDeclaration = (path: string): boolean => path.endsWith('.d.ts') || statSync(path).isDirectory()
  cpSync(join(checkout, 'dist/cjs'), join(installed, 'dist/cjs'), { recursive: true, filter: isDeclaration })
  for (const name of readdirSync(join(checkout, 'node_modules'))) {
    const link = join(folder, 'node_modules', name)
    if (!name.startsWith('.') && !existsSync(link)) symlinkSync(join(checkout, 'node_modules', name), link)
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return { folder, remove: () => rmSync(folder, { recursive: true }) }
}

/** The development server of Vite, with the `vite.config.js` of the project if there is one. */
export const serveWithVite = async (root: string): Promise<ServedPage> => {
  const configFile = join(root, 'vite.config.js')
  const server = await createServer({
    root,
    configFile: existsSync(configFile) ? configFile : false,
    logLevel: 'error',
    server: { host: '127.0.0.1', port: 0, hmr: false },
  })
  await server.listen()
  const { port } = server.httpServer?.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() }
}

/** Builds a page with Vite into `dist`. */
export const buildWithVite = async (root: string): Promise<string> => {
  await build({ root, configFile: false, logLevel: 'error' })
  return join(root, 'dist')
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
}

/** A static server, which adds `.js` to paths without an extension, as `try_files $uri $uri.js` of nginx does. */
export const serveFiles = async (folder: string, headers: Readonly<Record<string, string>>): Promise<ServedPage> => {
  const server = createHttpServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://localhost')
    const path = pathname.endsWith('/') ? `${pathname}index.html` : pathname
    for (const file of [path, `${path}.js`]) {
      try {
        const body = readFileSync(join(folder, file))
        response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream', ...headers })
        response.end(body)
        return
      } catch {
        // The next name, then 404.
      }
    }
    response.writeHead(404, headers).end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const close = (): Promise<void> =>
    new Promise((closed) => {
      server.close(() => closed())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${port}/`, close }
}
