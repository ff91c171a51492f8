// The fourth table of `npm run bench scale`: calls at two engine processes of the built command that may use a fifth of
// a CPU each, by the quota of a control group, which only root may create. The service and the callers have no limit.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { lastValueFrom, tap } from 'rxjs'

const engineCount = 2
const quotaCpus = 0.2
const callCount = 6
/** Between the starts of two calls. */
const betweenMs = 2_000
/** The share of places that are not free, above which another engine process is to be started. */
const scalesAbove = 0.7

const repository = new URL('../../', import.meta.url).pathname
const call = JSON.parse(readFileSync(join(repository, 'samples/call.json'), 'utf8'))

/** Runs a program with a quota of CPU. Returns what removes the control group once the program has ended. */
const inControlGroup = (name, args) => {
  const isUnified = existsSync('/sys/fs/cgroup/cgroup.controllers')
  const folder = join('/sys/fs/cgroup', isUnified ? '' : 'cpu', name)
  mkdirSync(folder)
  if (isUnified) writeFileSync(join(folder, 'cpu.max'), `${quotaCpus * 100_000} 100000`)
  else writeFileSync(join(folder, 'cpu.cfs_quota_us'), String(quotaCpus * 100_000))
  const script = 'echo $$ > "$0" && exec "$@"'
  const child = spawn('sh', ['-c', script, join(folder, 'cgroup.procs'), ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return { child, remove: () => rmdirSync(folder) }
}

const startEngine = async (url, build, number, flags) => {
  const { child, remove } = inControlGroup(`rxspeech-bench-${process.pid}-${number}`, [
    ...[
      process.execPath,
      join(build, 'packages/service/dist/cli/main.js'),
      'engine',
      '--nats',
      url,
      '--name',
      `starved-${number}`,
    ],
    ...['--models', join(repository, 'samples/models'), '--operations', '127.0.0.1:0', ...flags],
  ])
  const [line] = await once(child.stdout, 'data')
  const { capacity, operations } = JSON.parse(String(line))
  const end = async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
    await sleep(200)
    remove()
  }
  return { capacity, operations, end }
}

/** Values of a metric by its labels. */
const readMetric = (text, name) =>
  text.split('\n').flatMap((line) => {
    const [, labels = '', value] = new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`).exec(line) ?? []
    return value === undefined ? [] : [{ labels, value: Number(value) }]
  })

const scrape = async (address) => (await fetch(new URL('/metrics', address))).text()

const sum = (rows) => rows.reduce((total, { value }) => total + value, 0)

/** The signal of `docs/deploy/kubernetes/scaling.yaml`: the share of places that are not free. */
const scalingSignal = async (engines) => {
  const rows = (await Promise.all(engines.map(({ operations }) => scrape(operations)))).flatMap((text) =>
    readMetric(text, 'rxspeech_engine_places'),
  )
  return 1 - sum(rows.filter(({ labels }) => labels.includes('"free"'))) / sum(rows)
}

/** Plays the sample call once. Resolves with its milestones, or with the code of the refusal or failure. */
const playCall = async ({ dataflow, pace, readWav }, service, token) => {
  const { format, audio } = await readWav(createReadStream(join(repository, 'samples/call.wav')))
  const milestones = []
  let startedAtMs = 0
  try {
    const audio$ = pace({ format, maxCatchUpMs: 1000 })(audio).pipe(tap(() => (startedAtMs ||= performance.now())))
    const options = {
      url: service.grpcAddress,
      tenant: 'Default',
      project: 'transcribe',
      token,
      format,
      connection: { insecure: true },
    }
    await lastValueFrom(
      audio$.pipe(
        dataflow({ ...options, resumption: false }),
        tap((event) => {
          if (event.type !== 'milestone') return
          milestones.push({ ...event, lateMs: performance.now() - startedAtMs - event.endMs })
        }),
      ),
    )
    return { milestones, code: undefined }
  } catch (error) {
    return { milestones, code: error.code }
  }
}

/** Words of the call that no milestone of its channel has, in order. */
const lostWords = (milestones) => {
  let lost = 0
  for (const channel of [0, 1]) {
    const words = (texts) => texts.flatMap((text) => (text === '' ? [] : text.split(' ')))
    const spoken = words(call.turns.filter((turn) => turn.channel === channel).map(({ text }) => text))
    const heard = words(
      milestones
        .filter((milestone) => milestone.channel === channel)
        .toSorted((a, b) => a.startMs - b.startMs)
        .map(({ text }) => text),
    )
    let at = 0
    for (const word of spoken) {
      const found = heard.indexOf(word, at)
      if (found < 0) lost += 1
      else at = found + 1
    }
  }
  return lost
}

const measure = async (fleet, build, title, flags) => {
  const load = (file) => import(pathToFileURL(join(build, file)).href)
  const { hashSecret, memoryClients, startService } = await load('packages/service/dist/index.js')
  const { dataflow } = await load('dist/cjs/grpc.js')
  const { pace, readWav, requestToken } = await load('dist/cjs/index.js')
  const engines = []
  for (let number = 1; number <= engineCount; number += 1)
    engines.push(await startEngine(fleet.url, build, number, flags))
  const clientSecret = 'a secret for this benchmark'
  const all = ['*']
  const client = { clientId: 'bench', tenants: all, projects: all, models: all, validFromMs: 0, cancelled: false }
  const service = await startService({
    clients: memoryClients([
      { ...client, validUntilMs: Number.MAX_SAFE_INTEGER, secretHash: await hashSecret(clientSecret) },
    ]),
    ...{ modelFolders: [], natsEngines: { servers: [fleet.url] }, operations: { host: '127.0.0.1', port: 0 } },
    limits: { maxLoadPercent: 0, maxLoopDelayMs: 0 },
  })
  const token = requestToken({ authUrl: service.authUrl, clientId: 'bench', clientSecret })
  let isOver = false
  let ready = true
  const signals = []
  const watch = async () => {
    while (!isOver) {
      await sleep(1_000)
      ready &&= (await fetch(new URL('/readyz', service.operationsUrl))).ok
      signals.push(await scalingSignal(engines))
    }
  }
  const watching = watch()
  const outcomes = await Promise.all(
    Array.from({ length: callCount }, async (_none, index) => {
      await sleep(index * betweenMs)
      return playCall({ dataflow, pace, readWav }, service, token)
    }),
  )
  isOver = true
  await watching
  const again = readMetric(await scrape(service.operationsUrl), 'rxspeech_fleet_lost_total')
  await service.close({ drainMs: 0 })
  for (const { end } of engines) await end()
  const admitted = outcomes.filter(({ code }) => code !== 'overloaded')
  const lateMs = admitted.flatMap(({ milestones }) => milestones.map((milestone) => milestone.lateMs))
  const after = signals.findIndex((signal) => signal > scalesAbove)
  return {
    engines: title,
    places: engines.map(({ capacity }) => capacity).join(' + '),
    'calls admitted': `${admitted.length} of ${callCount}`,
    'latest milestone s': (Math.max(0, ...lateMs) / 1000).toFixed(1),
    'segments begun again':
      again.map(({ labels, value }) => `${value} ${/"(.*)"/.exec(labels)?.[1]}`).join(', ') || '0',
    'admitted calls that failed': admitted.flatMap(({ code }) => code ?? []).join(', ') || '0',
    'calls that lost words': admitted.filter(({ milestones }) => lostWords(milestones) > 0).length,
    'words lost': admitted.reduce((total, { milestones }) => total + lostWords(milestones), 0),
    '/readyz': ready ? 200 : 503,
    'scales up after s': after < 0 ? 'never' : after + 1,
  }
}

/** @param {string} build the built checkout that is measured */
export const benchStarved = async (fleet, _seconds, build = repository) => {
  console.log(
    `\nStarved: ${callCount} calls, one every ${betweenMs / 1000} s, at ${engineCount} engine processes that may use ${quotaCpus} CPU each, ` +
      'with the default capacity, and with one that is too large. A refused call does not ask again.',
  )
  console.table([
    await measure(fleet, build, 'default capacity', []),
    await measure(fleet, build, '--capacity 8', ['--capacity', '8']),
  ])
}
