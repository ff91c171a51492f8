// @ts-check
/* global __dirname, __filename */
// Preloaded into the programs of the pages (`node --require`): the embedded engine decodes each segment of speech once.
//
// The pages transcribe the same call again and again, and its decoding is nearly all of the time that they take. What the
// engine answers depends on the samples of a segment alone, so its answers are kept in node_modules/.cache, under what
// decides them: the engine's built code, its package's version, the model. A thread with this file stands in front of the
// engine's own thread, speaks the same messages (src/service/engine/worker-messages.ts), and starts that thread for a
// segment that nobody decoded before.
const { createHash } = require('node:crypto')
const { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const workerThreads = require('node:worker_threads')
const { isMainThread, parentPort, threadId, Worker, workerData } = workerThreads

/**
 * @typedef {import('../../src/service/engine/worker-messages.js').ToWorker} ToWorker
 * @typedef {import('../../src/service/engine/worker-messages.js').FromWorker} FromWorker
 * @typedef {{ readonly type: 'decode-once', readonly file: string, readonly settings: object }} Task
 * @typedef {{ readonly hops: readonly (readonly [hash: string, partial: string | null])[], readonly decided: object }} Kept
 */

const root = join(__dirname, '../..')
const engineWorker = /soundswallower-worker\.js$/

class DecodeOnceWorker extends Worker {
  /**
   * @param {string | URL} file
   * @param {import('node:worker_threads').WorkerOptions} [options]
   */
  constructor(file, options = {}) {
    if (typeof file === 'string' && engineWorker.test(file)) {
      super(__filename, {
        ...options,
        workerData: { type: 'decode-once', file, settings: options.workerData },
      })
    } else super(file, options)
  }
}

/** @param {...(string | Uint8Array)} parts */
const hashOf = (...parts) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url')
}

/** Where the answers are of the engine as it is built now. */
const decodedFolder = () => {
  const engine = join(root, 'dist/cjs/service/engine')
  const code = readdirSync(engine, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .sort()
    .map((name) => readFileSync(join(engine, name)))
  const manifest = readFileSync(join(root, 'node_modules/soundswallower/package.json'))
  return join(root, 'node_modules/.cache/decoded-speech', hashOf(manifest, ...code))
}

/** What was decided of segments, by the hash of all that they hold, and the partials by the hash of what came before. */
class Decoded {
  /** @type {Map<string, string | null>} */
  #partials = new Map()
  /** @type {Map<string, object>} */
  #decided = new Map()
  /** @type {Set<string>} */
  #read = new Set()
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder
    this.#readNew()
  }

  /** @param {string} hash */
  partialOf(hash) {
    if (!this.#partials.has(hash)) this.#readNew()
    return this.#partials.get(hash)
  }

  /** @param {string} hash */
  decidedOf(hash) {
    if (!this.#decided.has(hash)) this.#readNew()
    return this.#decided.get(hash)
  }

  /** @param {string} hash @param {Kept} kept */
  keep(hash, kept) {
    const unfinished = join(this.folder, `.${process.pid}-${threadId}`)
    mkdirSync(this.folder, { recursive: true })
    writeFileSync(unfinished, JSON.stringify(kept))
    renameSync(unfinished, join(this.folder, `${hash}.json`))
  }

  /** Also what other programs have decoded meanwhile. */
  #readNew() {
    if (!existsSync(this.folder)) return
    for (const name of readdirSync(this.folder)) {
      if (!name.endsWith('.json') || this.#read.has(name)) continue
      this.#read.add(name)
      const { hops, decided } = /** @type {Kept} */ (JSON.parse(readFileSync(join(this.folder, name), 'utf8')))
      for (const [hash, partial] of hops) this.#partials.set(hash, partial)
      this.#decided.set(name.replace(/\.json$/, ''), decided)
    }
  }
}

class Segment {
  /** All that was sent, for the engine in case that it has to decode it after all. @type {ToWorker[]} */
  sent = []
  /** @type {string[]} */
  hashes = []
  /** @type {(string | null)[]} */
  partials = []
  answered = 0
  isDecoding = false
  /** @type {string | undefined} */
  closed

  /** @param {number} startMs @param {string} model */
  constructor(startMs, model) {
    this.startMs = startMs
    this.model = model
  }

  /** Of the model and all audio so far. */
  get hash() {
    return this.hashes.at(-1) ?? this.model
  }
}

/** @param {Task} task @param {import('node:worker_threads').MessagePort} port */
const serve = ({ file, settings }, port) => {
  const decoded = new Decoded(decodedFolder())
  const model = hashOf(JSON.stringify(settings))
  const taken = join(decoded.folder, `${model}.taken`)
  /** @type {Map<number, Segment>} */
  const segments = new Map()
  /** @type {import('node:worker_threads').Worker | undefined} */
  let engine
  let isReady = false
  /** @param {FromWorker} message */
  const say = (message) => port.postMessage(message)

  /** @param {FromWorker} message */
  const onAnswer = (message) => {
    if (message.type === 'ready') {
      mkdirSync(decoded.folder, { recursive: true })
      writeFileSync(taken, '')
      if (!isReady) say(message)
      isReady = true
      return
    }
    if (message.type === 'refused' || message.type === 'working') return say(message)
    const segment = segments.get(message.segment)
    if (segment === undefined) return
    if (message.type === 'taken') {
      segment.partials.push(message.partial ?? null)
      // What was answered before the engine had to begin is not said twice.
      if (segment.partials.length > segment.answered) say(message)
      return
    }
    if (message.type === 'decided' && segment.closed !== undefined) {
      const { type, words, whole } = message
      decoded.keep(segment.closed, {
        hops: segment.hashes.map((hash, at) => [hash, segment.partials[at] ?? null]),
        decided: { type, words, whole },
      })
    }
    segments.delete(message.segment)
    say(message)
  }

  const startEngine = () => {
    const started = new Worker(file, { workerData: settings, execArgv: [] })
    started.on('message', onAnswer)
    started.on('error', (error) => {
      throw error
    })
    started.on('exit', (code) => process.exit(code))
    return started
  }

  /** @param {Segment} segment @param {ToWorker} message */
  const decode = (segment, message) => {
    engine ??= startEngine()
    if (segment.isDecoding) engine.postMessage(message)
    else for (const each of segment.sent) engine.postMessage(each)
    segment.isDecoding = true
  }

  port.on('message', (/** @type {ToWorker} */ message) => {
    if (message.type === 'open') segments.set(message.segment, new Segment(message.startMs, model))
    const segment = segments.get(message.segment)
    if (segment === undefined) return
    segment.sent.push(message)
    switch (message.type) {
      case 'open':
        return
      case 'audio': {
        const { buffer, byteOffset, byteLength } = message.samples
        const hash = hashOf(segment.hash, new Uint8Array(buffer, byteOffset, byteLength))
        segment.hashes.push(hash)
        const partial = segment.isDecoding ? undefined : decoded.partialOf(hash)
        if (partial === undefined) return decode(segment, message)
        segment.answered += 1
        return say({
          type: 'taken',
          segment: message.segment,
          sampleCount: message.samples.length,
          ...(partial !== null && { partial }),
        })
      }
      case 'close': {
        segment.closed = hashOf(segment.hash, `${segment.startMs} to ${message.endMs}`)
        const decision = segment.isDecoding ? undefined : decoded.decidedOf(segment.closed)
        if (decision === undefined) return decode(segment, message)
        segments.delete(message.segment)
        return say(/** @type {FromWorker} */ ({ ...decision, segment: message.segment }))
      }
      case 'abort':
        segments.delete(message.segment)
        if (segment.isDecoding) engine?.postMessage(message)
    }
  })

  // Whether the engine takes the model is for the engine to say; once it has, that is known like the rest.
  if (existsSync(taken)) {
    isReady = true
    say({ type: 'ready' })
  } else engine = startEngine()
}

/** @param {unknown} data @returns {data is Task} */
const isTask = (data) => typeof data === 'object' && data !== null && 'type' in data && data.type === 'decode-once'

module.exports = { decodedFolder, hashOf }

if (isMainThread) Object.assign(workerThreads, { Worker: DecodeOnceWorker })
else if (parentPort !== null && isTask(workerData)) serve(workerData, parentPort)
