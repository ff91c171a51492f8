import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callThrough, LiveFleet } from '../../../nats/test/engines/live-fleet.js'
import { developmentCertificates } from '../../../server/src/identity/keys/development-certificates.js'
import type { Service } from '../../src/start/running-service.js'
import { freePort } from '../../../../test/transport/tcp-proxy.js'
import { run } from '../cli/command.js'
import { hasPrograms, needPackages } from '../interop/debian-packages.js'
import { alertRules, deployFile, panels, queries } from './prometheus-files.js'

const needed = needPackages(['prometheus', 'nats-server'], () => hasPrograms('prometheus', 'nats-server'))

/** The embedded model is the one that has processes of its own, whose memory is known. */
const embedded = 'packages/rxspeech-whisper-tiny-en/models'

// Processes, and calls in real time.
describe.skipIf(needed.areAbsent)(needed.title('a deployment with Prometheus'), () => {
  let folder: string
  let fleet: LiveFleet
  let service: Service
  let prometheus: ChildProcess
  let base: string
  let engineFlags: readonly string[]

  const ask = async (query: string): Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]> => {
    const response = await fetch(`${base}/api/v1/query?${new URLSearchParams({ query }).toString()}`)
    const { status, data, error } = (await response.json()) as {
      readonly status: string
      readonly data?: { readonly result: readonly { readonly metric: Readonly<Record<string, string>> }[] }
      readonly error?: string
    }
    expect([status, error], query).toEqual(['success', undefined])
    return data?.result ?? []
  }
  /** Of all alerts, or of one. */
  const firing = async (alert = ''): Promise<readonly string[]> => {
    const found = await ask(`ALERTS{alertstate="firing",alertname=~"Rxspeech${alert === '' ? '.*' : alert}"}`)
    return found.map(({ metric }) => metric['alertname'] ?? '')
  }
  const fired = new Set<string>()
  /** Resolves when all of these have fired at some time. */
  const untilFired = async (...alerts: readonly string[]): Promise<void> => {
    const missing = async (): Promise<readonly string[]> => {
      for (const alert of await firing()) fired.add(alert)
      return alerts.filter((alert) => !fired.has(`Rxspeech${alert}`))
    }
    await expect.poll(missing, { timeout: 120_000, interval: 300 }).toEqual([])
  }
  const failure = (error: unknown): string => String((error as { readonly code?: unknown }).code)
  const call = (options: Parameters<typeof callThrough>[1] = {}): Promise<unknown> =>
    callThrough(service, { model: 'call', ...options }).catch(failure)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'alerts-'))
    const [operations, port] = [await freePort(), await freePort()]
    fleet = await LiveFleet.start({ config: `jetstream { store_dir: ${JSON.stringify(join(folder, 'store'))} }` })
    // Of a CA of its own, for the name that Prometheus connects to, and with a day left.
    await mkdir(join(folder, 'tls'))
    const beforeMs = 364 * 86_400_000
    const tls = await developmentCertificates(join(folder, 'tls'), { now: () => Date.now() - beforeMs })
    const [ca, cert, key] = ['ca.crt', 'engine.crt', 'engine.key'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    await writeFile(ca, tls.ca)
    await writeFile(cert, tls.certificate)
    await writeFile(key, tls.key, { mode: 0o600 })
    engineFlags = [
      '--models',
      embedded,
      '--capacity',
      '1',
      '--operations',
      `0.0.0.0:${operations}`,
      '--cert',
      cert,
      '--key',
      key,
    ]
    await fleet.startEngine(engineFlags)
    const keysFile = join(folder, 'keys.json')
    await run(['keys', 'rotate', '--file', keysFile])
    service = await fleet.startService({
      operations: { host: '127.0.0.1', port: 0 },
      issuer: 'http://issuer.test',
      identity: { keysFile, nats: { servers: [fleet.nats.url] } },
    })
    const rules = (await readFile(deployFile('alerts.yml'), 'utf8'))
      .replaceAll(/for: \w+/g, 'for: 1s')
      .replaceAll(/\[\d+m\]/g, '[10s]')
    await writeFile(join(folder, 'alerts.yml'), rules)
    const job = (name: string, target: string, more = ''): string =>
      `  - { job_name: rxspeech-${name}, ${more}static_configs: [{ targets: ['${target}'] }] }\n`
    const configuration =
      'global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }\nrule_files: [alerts.yml]\nscrape_configs:\n' +
      job('edge', (service.operationsUrl ?? '').replace('http://', '')) +
      job('engine', `localhost:${operations}`, 'scheme: https, tls_config: { ca_file: ca.crt }, ')
    await writeFile(join(folder, 'prometheus.yml'), configuration)
    base = `http://127.0.0.1:${port}`
    const flags = ['--config.file=prometheus.yml', `--web.listen-address=127.0.0.1:${port}`, '--storage.tsdb.path=data']
    prometheus = spawn('prometheus', flags, { cwd: folder, stdio: 'ignore' })
  })
  afterAll(async () => {
    prometheus.kill('SIGKILL')
    await once(prometheus, 'exit')
    await fleet.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('fires each alert for its cause', async () => {
    const up = async (): Promise<number> => (await ask('up == 1').catch(() => [])).length
    await expect.poll(up).toBe(2)
    // Verified by the name of its certificate, which soon expires.
    await untilFired('CertificateExpires')
    // One place, which the first call takes; the others are refused.
    const first = call({ resumption: false })
    await fleet.busy()
    const others = Promise.all(Array.from({ length: 8 }, () => call({ resumption: false })))
    await untilFired('PlacesShort', 'SessionsRefused')
    expect(await others).toContain('overloaded')
    await (await fleet.busy()).kill()
    await untilFired('ProcessDown', 'NoEngines', 'SegmentsLost', 'SessionsFail')
    expect(await first).toBe('engine-failed')

    // An engine process that stands still while speech ends, for as long as it takes until its edge misses it. Its model
    // is not asked whether a sentence is complete, so the end of speech is found meanwhile.
    const { child } = await fleet.startEngine(engineFlags)
    let isLate = false
    const late = untilFired('FinalsLate').finally(() => (isLate = true))
    const speaking = async (): Promise<void> => {
      while (!isLate) await call({ model: 'English' })
    }
    const stalling = async (): Promise<void> => {
      const isMissed = async (): Promise<boolean> => (await firing('NoEngines')).length > 0
      while (!isLate) {
        await expect.poll(isMissed, { interval: 300 }).toBe(false)
        await Promise.race([fleet.busy(), late])
        child.kill('SIGSTOP')
        await expect.poll(isMissed, { interval: 300 }).toBe(true)
        child.kill('SIGCONT')
      }
    }
    await Promise.all([late, stalling(), speaking()])

    await fleet.nats.kill()
    await untilFired('NatsDown', 'NotReady', 'IdentityStale')
    await fleet.nats.restart()
    expect([...fired]).toEqual(expect.arrayContaining(alertRules.map(({ alert }) => alert)))
  }, 420_000)

  it('answers each query, of metrics that are there', async () => {
    for (const query of queries) await ask(query)
    // Within the whole of this test: a process that ends has no values any more.
    for (const query of panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))) {
      const overAll = query.replaceAll(/\[\dm\]/g, '[5m]')
      expect(await ask(`last_over_time((${overAll})[5m:1s])`), query).not.toEqual([])
    }
  })
})
