import { randomUUID } from 'node:crypto'
import { Subject, type Observable } from 'rxjs'
import type { AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { StartRequest, UpdateRequest, Settings } from '../../protocol/dataflow-messages.js'
import { openModel } from '../sessions/open-model.js'
import { isGranted, isGrantedByName, type Rights } from '../sessions/rights.js'
import type { NodeItem } from '../nodes/core/node.js'
import type { SessionWatch } from '../monitor/session-watch.js'
import type { GraphMonitor, GraphSession } from '../project/graph-session.js'
import type { OpenGraph } from '../project/open-graph.js'
import type { Project, ProjectRegistry } from '../project/project.js'
import type { Pausable } from '../sessions/pause-counter.js'
import { settingsRefusal, startRefusal } from './kept-fields.js'
import type { DataflowContext } from '../sessions/session-context.js'

/** A node that takes longer at a time than this, in milliseconds, holds up every other session. */
const maxCallMs = 1_000

/** One project at work for one session: audio in, and what its nodes tell. */
export class ProjectSession {
  readonly output$: Observable<NodeItem>
  /** The longest that the session may take, in milliseconds: the service's limit, or the project's where that is tighter. */
  readonly maxSessionMs: number
  readonly #audio$ = new Subject<Uint8Array>()
  readonly #graph: OpenGraph
  readonly #facts: Facts
  readonly #sampleRateHz: number

  /** Refuses a tenant, project or model that is not granted, settings that do not fit, and audio that the project does not take. */
  static async open(
    request: StartRequest,
    rights: Rights,
    terms: DataflowContext,
    link: Pausable,
  ): Promise<ProjectSession> {
    const refusal = startRefusal(request)
    if (refusal !== undefined) throw refusal
    const project = findProject(request, rights, terms.projects)
    const facts: Facts = {
      settings: request.settings ?? {},
      callProperties: request.callProperties ?? {},
      updated$: new Subject(),
    }
    const graph = await project.open(graphSession(project, request, rights, terms, link, facts))
    return new ProjectSession(graph, facts, request.audio.sampleRateHz, terms)
  }

  private constructor(graph: OpenGraph, facts: Facts, sampleRateHz: number, { limits }: DataflowContext) {
    this.#graph = graph
    this.#facts = facts
    this.#sampleRateHz = sampleRateHz
    this.maxSessionMs = Math.min(limits.maxSessionMs, graph.maxSessionMs)
    this.output$ = graph.run(this.#audio$)
  }

  /** Samples of one channel that the slowest node has not dealt with. */
  get pendingSamples(): number {
    return (this.#graph.pendingMs() * this.#sampleRateHz) / 1000
  }

  /** The model that a node asked for first. */
  get model(): string | undefined {
    return this.#facts.model
  }

  /** Whole frames in the session's format. */
  audio(bytes: Uint8Array): void {
    this.#audio$.next(bytes)
  }

  /** Makes the settings the session's, unless they are too large or a node refuses them: then nothing changes, and the refusal is given. */
  update({ settings, callProperties }: UpdateRequest): SpeechError | undefined {
    const next = { ...this.#facts.settings, ...settings }
    const nextProperties = { ...this.#facts.callProperties, ...callProperties }
    const refusal = settingsRefusal(next, nextProperties) ?? this.#graph.checkSettings(next, this.#facts.settings)
    if (refusal !== undefined) return refusal
    this.#facts.settings = next
    this.#facts.callProperties = nextProperties
    this.#facts.updated$.next(undefined)
    return undefined
  }

  /** The session ends before its time: each recognition says its final, then the output errors with this. */
  breakOff(error: SpeechError): void {
    this.#graph.breakOff(error)
  }

  /** Each recognition ends as soon as nobody speaks on its channel; after the last of them every other node flushes. */
  retire(): void {
    this.#graph.retire()
  }

  /** No more audio: every node flushes, and the output completes after the last event. */
  finish(): void {
    this.#audio$.complete()
  }
}

/** What an `Update` changes, and what nodes asked for. */
interface Facts {
  model?: string
  settings: Settings
  callProperties: Settings
  readonly updated$: Subject<undefined>
}

const findProject = ({ tenant, projectName }: StartRequest, rights: Rights, projects: ProjectRegistry): Project => {
  // Made while the service ran, it names a tenant that the service need not have known.
  if (isGrantedByName(rights.tenants, tenant)) projects.addTenant(tenant)
  if (!isGranted(rights.tenants, tenant) || !projects.hasTenant(tenant)) {
    throw new SpeechError('tenant-denied', 'The Tenant is not known here, or not granted to this subscription.')
  }
  const project = isGranted(rights.projects, projectName) ? projects.find(tenant, projectName) : undefined
  if (project !== undefined) return project
  throw new SpeechError('project-denied', 'The project is not known here, or not granted to this subscription.')
}

const monitorOf = (watch: SessionWatch): GraphMonitor => ({
  dropped: (loss) => {
    watch.dropped(loss)
  },
  nodeFailed: (failure) => {
    watch.nodeFailed(failure)
  },
})

const graphSession = (
  project: Project,
  { audio, language = '' }: StartRequest,
  rights: Rights,
  terms: DataflowContext,
  feeder: Pausable,
  facts: Facts,
): GraphSession => {
  const { limits, watch, models, scheduler, recordingsFolder, onFault } = terms
  const format: AudioFormat = { encoding: audio.encoding, sampleRateHz: audio.sampleRateHz, channels: audio.channels }
  return {
    format,
    feeder,
    limits: {
      idleMs: limits.idleMs,
      maxPendingAudioMs: limits.maxPendingAudioMs,
      // Sooner than the session's own deadline, so that the node at fault is named.
      finishWithinMs: Math.ceil(limits.flushWithinMs * 0.75),
      maxCallMs,
    },
    log: (node, message, fields) => watch?.noted(node, message, fields),
    ...(watch === undefined ? {} : { monitor: monitorOf(watch) }),
    ...(onFault === undefined ? {} : { onFault }),
    context: {
      session: {
        id: watch?.facts.sessionId ?? randomUUID(),
        tenant: project.tenant,
        project: project.name,
        clientId: watch?.facts.clientId ?? '',
      },
      language,
      audioOutput: audio.output,
      settings: () => facts.settings,
      callProperties: () => facts.callProperties,
      updated$: facts.updated$.asObservable(),
      engine: async ({ name = '', ...rest }) => {
        const engine = await openModel(models, rights, { name, ...rest })
        facts.model ??= name
        return engine
      },
      recordingsFolder,
      scheduler,
    },
  }
}
