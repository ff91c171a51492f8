import { execFile, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, get, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { developmentCertificates } from '../../../src/identity/keys/development-certificates.js'
import { createIdentity } from '../../../src/identity/identity.js'
import { storeOf, subscriber, tokenForm, tokenPath } from '../service-under-test.js'
import { folderOfTest } from '../../../../../test/temporary-folder.js'

const dayMs = 86_400_000
const has = (command: string) => spawnSync(command, ['--version']).status === 0
const run = promisify(execFile)

describe('developmentCertificates', () => {
  let folder: string
  let server: Server | undefined
  beforeEach(() => {
    folder = folderOfTest()
  })
  afterEach(async () => {
    const open = server
    server = undefined
    if (open !== undefined) {
      open.closeAllConnections()
      await new Promise((resolve) => open.close(resolve))
    }
  })

  const listen = async (host: string, handler = (): string => 'hello') => {
    const { ca, certificate, key, caPath } = await developmentCertificates(folder)
    const listening = createServer({ cert: certificate, key }, (_, response) => response.end(handler()))
    server = listening
    await new Promise<void>((resolve, reject) => listening.once('error', reject).listen(0, host, resolve))
    return { ca, caPath, port: (listening.address() as AddressInfo).port }
  }
  const fetchText = (host: string, port: number, ca: string) =>
    new Promise<string>((resolve, reject) => {
      get({ host, port, ca, agent: false }, (response) => {
        response.setEncoding('utf8').once('data', resolve)
      }).on('error', reject)
    })

  it.each([
    ['localhost', '127.0.0.1'],
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
  ])('are accepted by a verifying client that connects to %s', async (host, address) => {
    const { ca, port } = await listen(address)
    expect(await fetchText(host, port, ca)).toBe('hello')
  })

  it('are refused by a client that trusts another authority', async () => {
    const { port } = await listen('127.0.0.1')
    const { ca } = await developmentCertificates(join(folder, 'other'))
    await expect(fetchText('127.0.0.1', port, ca)).rejects.toMatchObject({ code: /CERT|SIGNATURE|ISSUER/ })
  })

  it('have an authority that signs end certificates only, and a server certificate that signs nothing', async () => {
    const { ca, certificate } = await developmentCertificates(folder)
    const [authority, leaf] = [new X509Certificate(ca), new X509Certificate(certificate)]
    expect([authority.ca, leaf.ca]).toStrictEqual([true, false])
    expect(leaf.checkIssued(authority) && leaf.verify(authority.publicKey)).toBe(true)
    expect(leaf.subjectAltName).toBe('DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1')
    expect(leaf.keyUsage).toStrictEqual(['1.3.6.1.5.5.7.3.1'])
    expect(leaf.checkHost('example.com')).toBeUndefined()
  })

  it('are readable only by the owner, without the key of the authority', async () => {
    const { ca, caPath, key } = await developmentCertificates(folder)
    expect((await readdir(folder)).sort()).toStrictEqual(['ca.pem', 'server.pem'])
    expect(await readFile(caPath, 'utf8')).toBe(ca)
    for (const file of await readdir(folder)) {
      expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600)
      const keys = (await readFile(join(folder, file), 'utf8')).match(/-----BEGIN .*PRIVATE KEY-----/g) ?? []
      expect(keys.length).toBe(file === 'server.pem' ? 1 : 0)
    }
    expect(key).toMatch(/^-----BEGIN PRIVATE KEY-----/)
  })

  it('are reused while valid for more than a day, and renewed after that', async () => {
    const startMs = Date.UTC(2026, 5, 1)
    const at = (ms: number) => developmentCertificates(folder, { now: () => ms })
    const first = await at(startMs)
    expect(await at(startMs + 363 * dayMs)).toStrictEqual(first)
    const renewed = await at(startMs + 364 * dayMs)
    expect(renewed.ca).not.toBe(first.ca)
    expect(await at(startMs + 364 * dayMs)).toStrictEqual(renewed)
  })

  it.each([
    ['ca.pem', ''],
    ['ca.pem', 'junk'],
    ['server.pem', ''],
    ['server.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
  ])('are renewed when %s contains %j', async (file, damage) => {
    const first = await developmentCertificates(folder)
    await writeFile(join(folder, file), damage)
    const second = await developmentCertificates(folder)
    expect(second.ca).not.toBe(first.ca)
    expect(await developmentCertificates(folder)).toStrictEqual(second)
  })

  it('are renewed when the two files do not match', async () => {
    const first = await developmentCertificates(folder)
    const other = await developmentCertificates(join(folder, 'other'))
    await writeFile(first.caPath, other.ca)
    const second = await developmentCertificates(folder)
    expect(second.certificate).not.toBe(first.certificate)
    expect(new X509Certificate(second.certificate).checkIssued(new X509Certificate(second.ca))).toBe(true)
  })

  it.skipIf(!has('openssl') && spawnSync('openssl', ['version']).status !== 0)(
    'pass the strict check of OpenSSL',
    async () => {
      const { caPath } = await developmentCertificates(folder)
      const leaf = join(folder, 'server.pem')
      const strict = ['verify', '-x509_strict', '-purpose', 'sslserver', '-verify_hostname', 'localhost']
      const { stdout } = await run('openssl', [...strict, '-CAfile', caPath, leaf])
      expect(stdout).toMatch(/: OK$/m)
      const { stdout: text } = await run('openssl', ['x509', '-in', leaf, '-noout', '-text'])
      expect(text).toMatch(/Subject Key Identifier/)
      expect(text).toMatch(/Authority Key Identifier/)
      const { stdout: authority } = await run('openssl', ['x509', '-in', caPath, '-noout', '-text'])
      expect(authority).toMatch(/CA:TRUE, pathlen:0/)
      expect(authority).toMatch(/Certificate Sign, CRL Sign/)
    },
  )

  it.skipIf(!has('python3'))("pass the check of Python's ssl module", async () => {
    const { caPath, port } = await listen('127.0.0.1')
    const program = [
      'import socket, ssl, sys',
      'context = ssl.create_default_context(cafile=sys.argv[1])',
      'context.verify_flags |= ssl.VERIFY_X509_STRICT',
      'for name in ("localhost", "127.0.0.1"):',
      '    with socket.create_connection(("127.0.0.1", int(sys.argv[2]))) as plain:',
      '        with context.wrap_socket(plain, server_hostname=name) as secure:',
      '            print(secure.version())',
    ].join('\n')
    const { stdout } = await run('python3', ['-c', program, caPath, String(port)])
    expect(stdout.trim().split('\n')).toStrictEqual(['TLSv1.3', 'TLSv1.3'])
  })

  it('serve the token endpoint over HTTPS', async () => {
    const { ca, certificate, key } = await developmentCertificates(folder)
    const { client } = await subscriber()
    const identity = await createIdentity({ issuer: 'https://localhost', clients: storeOf(client) })
    const listening = createServer({ cert: certificate, key }, (request, response) => {
      void identity.handle(request, response)
    })
    server = listening
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
    const { port } = listening.address() as AddressInfo
    const { request } = await import('node:https')
    const body = tokenForm().toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': Buffer.byteLength(body) }
    const text = await new Promise<string>((resolve, reject) => {
      const options = { host: 'localhost', port, ca, agent: false, method: 'POST', path: tokenPath, headers }
      const sent = request(options, (response) => {
        response.setEncoding('utf8').once('data', resolve)
      })
      sent.on('error', reject).end(body)
    })
    const { access_token: token } = JSON.parse(text) as { access_token: string }
    expect(await identity.verify(token)).toMatchObject({ clientId: 'client-1' })
  })
})
