import { createReadStream, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { findFfmpeg } from 'rxspeech-server/recognition/ffmpeg'
import type { Engine } from 'rxspeech-engines/engine'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import { createModelRegistry } from 'rxspeech-engines/models/model-registry'
import { resolveOptional } from 'rxspeech-engines/threads/load-optional'
import { loadSqlite } from 'rxspeech-server/identity/state/sqlite'
import { bytesForMs } from 'rxspeech/internal/audio/format'
import { readWav } from 'rxspeech/internal/audio/read-wav'
import { codeOf, isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { findRecordingCommand } from 'rxspeech/internal/microphone/recording-programs'
import { proxyFor } from 'rxspeech/internal/proxy/proxy'
import type { ListenAddress } from 'rxspeech/internal/transport/listen-address'
import { builtInEngines } from '../../start/built-ins.js'
import type { Host } from '../process/host.js'
import { isAtLeast, outdatedNode } from '../process/node-lines.js'
import { acquire } from '../process/interruption.js'
import {
  embeddedModel,
  missingEmbeddedModel,
  packageManifest,
  type PackageManifest,
  readManifest,
  sampleCall,
} from '../process/package-files.js'
import { reachService } from '../service/reach-service.js'
import { hear } from '../transcription/hear.js'
import { failed, ok, warning, wrong, type Check, type Finding } from './check.js'
import { trySession, type SampleAudio } from './try-session.js'

/** The version of Node, against the oldest one that the package supports and those that get security fixes. */
export const nodeCheck = (version: string): Check => ({
  name: 'Node',
  run: () => {
    const needed = (packageManifest().engines?.node ?? '').replace('>=', '')
    if (!isAtLeast(version, needed)) {
      return Promise.resolve(wrong(`Node ${version} is too old.`, `Install Node ${needed} or newer.`))
    }
    const outdated = outdatedNode(version)
    const found = ok(`Node ${version}, rxspeech ${packageManifest().version}`)
    return Promise.resolve(outdated === undefined ? found : [found, { status: 'warning', message: outdated }])
  },
})

/** Those with native parts or data, which may be missing without harm to the rest, and what loads them completely. */
const dispensablePackages: Readonly<Record<string, () => Promise<unknown>>> = {
  libsql: async () => (await loadSqlite())(':memory:', 0).close(),
  [embeddedModel.package]: () => {
    const missing = missingEmbeddedModel()
    return missing === undefined ? Promise.resolve() : Promise.reject(missing)
  },
  ...Object.fromEntries(builtInEngines({}).flatMap(({ requirements = {} }) => Object.entries(requirements))),
}

/** What a package needs, and what those of its dependencies need that belong to this project. */
const neededBy = ({ dependencies, optionalDependencies }: PackageManifest, from: string): readonly Needed[] =>
  Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => {
    if (name === 'rxspeech') return []
    if (dispensablePackages[name] !== undefined || !name.startsWith('rxspeech-')) return [{ name, from }]
    const manifest = resolveOptional(`${name}/package.json`, 'The service', from)
    return neededBy(readManifest(manifest), manifest)
  })

interface Needed {
  readonly name: string
  /** A file of the package that needs it. */
  readonly from: string
}

/** The packages that the service and the command need beside those of the library. */
export const packagesCheck: Check = {
  name: 'packages',
  run: async () => {
    const needed = new Map(neededBy(packageManifest(), __filename).map((one) => [one.name, one]))
    const findings = await Promise.all([...needed.values()].map(packageFinding))
    const problems = findings.filter((finding) => finding !== undefined)
    return [
      ok(`${needed.size - problems.length} of ${needed.size} packages of the service and the command`),
      ...problems,
    ]
  },
}

const packageFinding = async ({ name, from }: Needed): Promise<Finding | undefined> => {
  const load = dispensablePackages[name]
  try {
    if (load === undefined) resolveOptional(name, 'The service', from)
    else await load()
    return undefined
  } catch (error) {
    return load === undefined ? failed(error) : { ...failed(error), status: 'warning' }
  }
}

/** Whether ports are free. One in use is no fault where the service runs already. */
export const portsCheck = (addresses: readonly ListenAddress[]): Check => ({
  name: 'ports',
  run: () => Promise.all(addresses.map(portFinding)),
})

const portFinding = ({ host, port }: ListenAddress): Promise<Finding> =>
  new Promise((resolve) => {
    const name = `${host}:${port}`
    const server = createServer()
    server.once('error', (error) => {
      const code = codeOf(error)
      resolve(
        code === 'EADDRINUSE'
          ? warning(`${name} is in use, perhaps by a running service.`, 'Stop that program, or choose another port.')
          : wrong(
              `${name} cannot be listened on (${code ?? 'unknown'}).`,
              'Choose an address of this machine and a port above 1023.',
            ),
      )
    })
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(ok(`${name} is free`))))
  })

/** The models of folders, each loaded by its engine, which reads the sample: with most models no text comes of it. */
export const modelsCheck = (folders: readonly string[], env: Host['env'], limitMs: number): Check => ({
  name: 'models',
  limitMs,
  run: async (signal) => {
    const registry = createModelRegistry({ folders, kinds: builtInEngines(env) })
    try {
      const findings: Finding[] = registry.problems().map(failed)
      for (const model of registry.list()) {
        signal.throwIfAborted()
        const label = `${modelLabel(model)} (${model.options.engine})`
        const reading = registry.engine(model).then((engine) => readingFinding(label, engine, signal))
        findings.push(await reading.catch(failed))
      }
      const none = warning('There is no model in the folders.', 'rxspeech models add NAME --phrases FILE --models DIR')
      return findings.length === 0 ? none : findings
    } finally {
      await registry.close()
    }
  },
})

const readingFinding = async (label: string, engine: Engine, signal: AbortSignal): Promise<Finding> => {
  const { format, samples } = await sampleAudio()
  async function* audio(): AsyncGenerator<Uint8Array, undefined> {
    yield await Promise.resolve(samples)
    return undefined
  }
  const startedMs = performance.now()
  await hear(engine, { format, audio: audio() }, signal)
  const elapsedMs = performance.now() - startedMs
  const took = `${label} loads, and reads the sample in ${durationsText(elapsedMs)}`
  return elapsedMs <= sample.durationMs
    ? ok(took)
    : warning(`${took}, more slowly than it is spoken.`, 'Take a smaller model or a faster machine.')
}

/** The beginning of the sample call, and what the left channel says in it. */
const sample = { durationMs: 3500, text: 'good evening harbor grill how can i help you' }

/** How long it took to read the sample. */
const durationsText = (elapsedMs: number): string =>
  `${(elapsedMs / 1000).toFixed(1)} s for ${sample.durationMs / 1000} s of audio`

/** The embedded engine reads the beginning of the sample call, over both interfaces of a service in this process. */
export const recognitionCheck = (host: Host, timeoutMs: number): Check => ({
  name: 'recognition',
  run: async (signal) => {
    const plan = { where: 'here', modelFolders: [], model: 'call', tenant: 'Default', project: 'transcribe' } as const
    const { access, close } = await acquire(reachService(plan, host), signal)
    try {
      const findings: Finding[] = []
      for (const over of ['grpc', 'websocket'] as const) {
        const { text, elapsedMs } = await trySession(access, over, await sampleAudio(), { signal, timeoutMs })
        const name = `over ${over === 'grpc' ? 'gRPC' : 'WebSocket'}`
        findings.push(
          text(0) === sample.text
            ? ok(`the embedded engine reads the sample ${name}, ${durationsText(elapsedMs)}`)
            : wrong(`The embedded engine does not read the sample ${name}.`, 'npm install rxspeech-service'),
        )
      }
      return findings
    } finally {
      await close()
    }
  },
})

const sampleAudio = async (): Promise<SampleAudio> => {
  const { format, audio } = await readWav(createReadStream(sampleCall()))
  const chunks: Uint8Array[] = []
  for await (const chunk of audio) chunks.push(chunk)
  return { format, samples: Buffer.concat(chunks).subarray(0, bytesForMs(format, sample.durationMs)) }
}

const proxyVariables = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'] as const

/** The proxy of the environment or of the flag, without its user and password. */
export const proxyCheck = (option: string | false | undefined, env: Host['env']): Check => ({
  name: 'proxy',
  run: () => {
    const set = proxyVariables.filter((name) => (env[name] ?? env[name.toLowerCase()] ?? '') !== '')
    try {
      const proxy = proxyFor(new URL('https://speech.example.com'), option)
      const source = option === undefined ? `by ${set.join(' and ')}` : 'by --proxy'
      return Promise.resolve(ok(proxy === undefined ? 'none' : `${proxy.name}, ${source}`))
    } catch (error) {
      const message = isSpeechError(error) ? error.message : 'The address of the proxy is malformed.'
      return Promise.resolve(wrong(message, `Correct ${option === undefined ? set.join(' or ') : '--proxy'}.`))
    }
  },
})

/** Which recordings clients of dialects can send. */
export const uploadsCheck = ({ PATH }: Host['env']): Check => ({
  name: 'uploads',
  run: () => Promise.resolve(ok(findFfmpeg(PATH) ?? 'WAV files; others with ffmpeg, which is not in PATH')),
})

/** A program that records, and on Linux a device that it can open. */
export const audioCheck = (platform: NodeJS.Platform = process.platform): Check => ({
  name: 'microphone',
  run: async () => {
    const command = await Promise.resolve()
      .then(() => findRecordingCommand({ sampleRateHz: 16_000, channels: 1 }, platform))
      .catch(() => undefined)
    if (command === undefined) {
      const remedy = 'For commandMicrophone install one: apt-get install alsa-utils, or brew install ffmpeg.'
      return warning('No program that records (arecord, ffmpeg, sox) is in PATH.', remedy)
    }
    const devices = platform === 'linux' ? alsaDevices() : undefined
    return devices?.length === 0
      ? warning(
          `${command[0] ?? ''} is there, but no device to record from.`,
          'Connect a microphone, or pass the audio of a file.',
        )
      : ok([command[0] ?? '', ...(devices ?? [])].join(', '))
  },
})

/** The devices of the kernel's list that can capture; undefined if it is not readable. */
const alsaDevices = (): readonly string[] | undefined => {
  try {
    const lines = readFileSync('/proc/asound/pcm', 'utf8').split('\n')
    return lines.filter((line) => line.includes('capture')).map((line) => line.split(':')[1]?.trim() ?? '')
  } catch {
    return []
  }
}
