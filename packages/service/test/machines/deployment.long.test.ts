import { chmod, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callModels } from '../cli/command.js'
import { latenessMs, wordsOf, type Call, type Callers, type CallOptions, type Outcome } from './callers.js'
import {
  Deployment,
  deploymentIsSkipped,
  deploymentTitle,
  edgeNames,
  engineNames,
  natsNames,
  playedMs,
  type EdgeName,
} from './deployment.js'
import type { Lan } from './network.js'

/** In the middle of the first sentence; the second one begins and ends while a machine is cut off. */
const markMs = 1_200
const cutMs = 5_000

const log = (text: string): void => void process.stderr.write(`${text}\n`)
const over = ['grpc', 'websocket'] as const

describe.skipIf(deploymentIsSkipped)(
  deploymentTitle('the deployment of docs/SCALING.md, on machines of its own'),
  () => {
    const opened: Deployment[] = []
    let deployment: Deployment
    let callers: Callers
    let token: string
    let undisturbed: Outcome

    const calls = (count: number, options: Partial<CallOptions> = {}): readonly Call[] =>
      Array.from({ length: count }, (_none, index) =>
        callers.start(token, { over: over[index % 2] ?? 'grpc', toMs: playedMs, markMs, ...options }),
      )
    const outcomesOf = (running: readonly Call[]): Promise<readonly Outcome[]> =>
      Promise.all(running.map(({ outcome }) => outcome))
    const expectWhole = ({ end, gapMs, ledgers }: Outcome): void => {
      expect({ end, gapMs }).toEqual({ end: 'complete', gapMs: 0 })
      expect(ledgers.length).toBeGreaterThan(0)
      for (const { capturedMs, ...account } of ledgers) {
        expect(capturedMs % playedMs).toBe(0)
        expect(account).toMatchObject({ finalizedMs: capturedMs, pendingMs: 0, replayedPendingMs: 0, droppedMs: 0 })
      }
    }
    /** Internal errors in the logs of edges and engines since a number of lines. */
    const faults = (since: ReadonlyMap<string, number>): readonly unknown[] =>
      [...edgeNames, ...engineNames].flatMap((name) =>
        deployment
          .on(name)
          .lines.slice(since.get(name))
          .filter(({ level }) => level === 'error'),
      )
    const linesNow = (): ReadonlyMap<string, number> =>
      new Map([...edgeNames, ...engineNames].map((name) => [name, deployment.on(name).lines.length]))

    /** The words of as many passes through the call as were played. */
    const expectPasses = (outcome: Outcome): void => {
      const passes = (outcome.ledgers[0]?.capturedMs ?? 0) / playedMs
      const once = wordsOf(undisturbed)
      expect(wordsOf(outcome)).toEqual(once.map((words) => Array.from({ length: passes }, () => words).flat()))
    }

    beforeAll(async () => {
      deployment = await Deployment.create()
      opened.push(deployment)
      callers = deployment.openCallers()
      token = await deployment.newToken(callers)
      const [first, ...others] = await outcomesOf(calls(2))
      if (first === undefined) throw new Error('no call')
      undisturbed = first
      for (const outcome of [first, ...others]) {
        expectWhole(outcome)
        expect(wordsOf(outcome)).toEqual(wordsOf(undisturbed))
      }
      expect(wordsOf(undisturbed)[0]?.[0]).toBe('good evening harbor grill how can i help you')
    })
    afterAll(() => Promise.all(opened.map((one) => one.close())))

    it('transcribes a call over either transport, as the page says', async () => {
      const lines = (await deployment.transcribe()).trim().split('\n')
      expect(lines).toHaveLength(4)
      expect(lines.slice(2)).toEqual(lines.slice(0, 2))
      expect(lines[0]).toMatch(/left: good evening harbor grill how can i help you$/)
    })

    it('has servers of NATS that find each other by the names of their certificates, not by their IP addresses', () => {
      for (const name of natsNames) expect(deployment.on(name).log).not.toContain('TLS route handshake error')
    })

    /** A session on each edge that says nothing, with a token of its own. */
    const idleSessions = async (own: string): Promise<readonly Call[]> => {
      const idle = edgeNames.map((host) => callers.start(own, { over: 'websocket', host }))
      await Promise.all(idle.map(({ isStreaming }) => isStreaming))
      return idle
    }
    /** When an edge has ended the session of a revoked token. */
    const endedAtMs = async (edge: EdgeName, since: ReadonlyMap<string, number>): Promise<number> => {
      const find = () =>
        deployment
          .on(edge)
          .lines.slice(since.get(edge))
          .find(({ code }) => code === 'unauthenticated')
      await expect.poll(find, { interval: 20 }).toBeDefined()
      return Date.parse(String(find()?.['time']))
    }
    /** Servers that have lost each other refuse changes until a majority of them has a leader. */
    const revoke = async (edge: EdgeName, own: string): Promise<void> => {
      await expect.poll(async () => (await deployment.revoke(callers, edge, own)).status, { interval: 100 }).toBe(200)
    }

    /** Of each kind of machine one; each server of NATS, of which one leads and others have the clients. */
    const cables: readonly (readonly [name: string, lan: Lan])[] = [
      ...[edgeNames[0], engineNames[0], ...natsNames].map((name) => [name, 'main'] as const),
      [natsNames[0], 'cluster'],
    ]

    it.each(cables)('loses no word while %s is cut off for 5 s (%s)', async (name, lan) => {
      const own = await deployment.newToken(callers)
      const idle = lan === 'main' ? await idleSessions(own) : []
      const since = linesNow()
      // An edge that is cut off with its clients waiting is noticed by heartbeats.
      const running = calls(6, { heartbeatMs: 1_000 })
      await Promise.all(running.map(({ marked }) => marked))
      await deployment.network.set(name, 'cut', lan)
      const cutAtMs = Date.now()
      await delay(cutMs - 500)
      const other = name === 'edge-1' ? 'edge-2' : 'edge-1'
      // Servers of NATS that have lost each other refuse changes until they have a leader again, and so none is made
      // then.
      const isRevoked = lan === 'main'
      const revocation = isRevoked ? revoke(other, own) : undefined
      await delay(cutMs - (Date.now() - cutAtMs))
      await deployment.network.set(name, 'whole', lan)
      const wholeAtMs = Date.now()
      await revocation
      const outcomes = await outcomesOf(running)
      const ended = isRevoked ? await Promise.all(edgeNames.map((edge) => endedAtMs(edge, since))) : []
      const lateMs = outcomes.map((outcome) => Math.round(latenessMs(outcome, undisturbed)))
      const states = outcomes.map((outcome) => outcome.states.filter((state) => state === 'resumed').length)
      log(
        `${name} (${lan}) cut off for ${wholeAtMs - cutAtMs} ms: milestones at most ${lateMs.join(', ')} ms later, ` +
          `resumed ${states.join(', ')}; sessions of a revoked token ended ` +
          `${ended.map((atMs) => atMs - wholeAtMs).join(' and ')} ms after the link was back`,
      )
      for (const outcome of outcomes) {
        expectWhole(outcome)
        expect(wordsOf(outcome)).toEqual(wordsOf(undisturbed))
      }
      for (const { end } of await outcomesOf(idle)) expect(end).toBe('unauthenticated')
      await recovered()
    })

    /** Waits until each edge sees all engines and the balancer all edges, for the next test. */
    const recovered = async (): Promise<void> => {
      await Promise.all(edgeNames.map((edge) => deployment.balanced(edge, 'UP')))
      await expect
        .poll(async () => JSON.parse(await deployment.engines()) as unknown[])
        .toHaveLength(engineNames.length)
    }

    it('restarts both edges under load, and kills one, without a lost word or a failed session', async () => {
      let since = linesNow()
      const running = calls(12, { repeats: true })
      await Promise.all(running.map(({ marked }) => marked))
      const startedMs = Date.now()
      for (const [edge, signal] of [
        ['edge-1', 'SIGTERM'],
        ['edge-2', 'SIGTERM'],
        ['edge-1', 'SIGKILL'],
      ] as const) {
        const atMs = Date.now()
        const code = await deployment.on(edge).end(signal)
        const endedMs = Date.now() - atMs
        expect(code).toBe(signal === 'SIGTERM' ? 0 : null)
        await deployment.balanced(edge, 'DOWN')
        since = new Map(since).set(edge, 0)
        await deployment.startEdge(edge)
        await deployment.balanced(edge, 'UP')
        log(`${edge} ${signal}: ended after ${endedMs} ms, serving again after ${Date.now() - atMs} ms`)
      }
      for (const { finish } of running) finish()
      const outcomes = await outcomesOf(running)
      const resumed = outcomes.map(({ states }) => states.filter((state) => state === 'resumed').length)
      log(`both edges restarted within ${Date.now() - startedMs} ms; sessions resumed ${resumed.join(', ')} times`)
      for (const outcome of outcomes) {
        expectWhole(outcome)
        expectPasses(outcome)
      }
      expect(faults(since)).toEqual([])
    })
    it('is upgraded and taken back in the order of the page, under load, without a lost word or a failed session', async () => {
      let since = linesNow()
      const running = calls(6, { repeats: true })
      await Promise.all(running.map(({ marked }) => marked))
      const engines = async (): Promise<void> => {
        for (const engine of engineNames) {
          expect(await deployment.on(engine).end('SIGTERM')).toBe(0)
          since = new Map(since).set(engine, 0)
          await deployment.startEngine(engine)
        }
      }
      const edges = async (): Promise<void> => {
        for (const edge of edgeNames) {
          expect(await deployment.on(edge).end('SIGTERM')).toBe(0)
          await deployment.balanced(edge, 'DOWN')
          since = new Map(since).set(edge, 0)
          await deployment.startEdge(edge)
          await deployment.balanced(edge, 'UP')
        }
      }
      const startedMs = Date.now()
      await engines()
      await edges()
      for (const name of natsNames) {
        await deployment.on(name).end('SIGTERM')
        await deployment.startNats([name])
        // As the page says: within it, the bucket of the identity has a leader again.
        await delay(15_000)
      }
      const upgradedMs = Date.now()
      await edges()
      await engines()
      for (const { finish } of running) finish()
      const outcomes = await outcomesOf(running)
      const resumed = outcomes.map(({ states }) => states.filter((state) => state === 'resumed').length)
      log(
        `upgraded within ${upgradedMs - startedMs} ms, and back within ${Date.now() - upgradedMs} ms; ` +
          `sessions resumed ${resumed.join(', ')} times`,
      )
      for (const outcome of outcomes) {
        expectWhole(outcome)
        expectPasses(outcome)
      }
      expect(faults(since)).toEqual([])
      await recovered()
    }, 600_000)

    it('gets new content of a model, engine by engine, while sessions run, without a fault', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'models-'))
      await cp(callModels, folder, { recursive: true })
      // The user of engine processes has to read it.
      await chmod(folder, 0o755)
      const phrases = join(folder, 'Default/call/1/phrases.txt')
      const old = await readFile(phrases, 'utf8')
      // Words that sound alike, so that what is heard tells which content recognized it.
      const renewed = (text: string): string => text.replaceAll('help you', 'help ewe').replaceAll('would', 'wood')
      const restored = (text: string): string => text.replaceAll('help ewe', 'help you').replaceAll('wood', 'would')
      await writeFile(phrases, renewed(old))
      let since = linesNow()
      const [before] = await contents()
      const running = calls(4, { repeats: true })
      await Promise.all(running.map(({ marked }) => marked))
      for (const engine of engineNames) {
        const atMs = Date.now()
        expect(await deployment.on(engine).end('SIGTERM')).toBe(0)
        const endedMs = Date.now() - atMs
        await deployment.installModels(engine, folder)
        since = new Map(since).set(engine, 0)
        await deployment.startEngine(engine)
        log(`${engine}: ended after ${endedMs} ms, ready again after ${Date.now() - atMs} ms`)
      }
      for (const { finish } of running) finish()
      const outcomes = await outcomesOf(running)
      for (const outcome of outcomes) {
        expectWhole(outcome)
        const milestones = outcome.milestones.map((one) => ({ ...one, text: restored(one.text) }))
        expectPasses({ ...outcome, milestones })
      }
      expect(faults(since)).toEqual([])
      const after = await contents()
      expect(after).toHaveLength(1)
      expect(after).not.toContain(before)
      const [fresh] = await outcomesOf(calls(1))
      expect(fresh && wordsOf(fresh)).toEqual(wordsOf(undisturbed).map((words) => words.map(renewed)))
      await rm(folder, { recursive: true })
    }, 300_000)

    /** The digests that engines have of the model. */
    const contents = async (): Promise<readonly string[]> => {
      const digests = (await deployment.engines()).matchAll(/"digest":\s*"([0-9a-f]+)"/g)
      return [...new Set([...digests].map(([, digest = '']) => digest))]
    }
  },
)
