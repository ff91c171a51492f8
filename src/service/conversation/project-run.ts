import { randomUUID } from 'node:crypto'
import { finalize, Subject, type Observable } from 'rxjs'
import { bytesPerFrame, type AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { StartRequest, UpdateRequest } from '../../protocol/dataflow-requests.js'
import type { Settings } from '../../protocol/settings.js'
import { openModel } from '../access/open-model.js'
import { isGranted, type Rights } from '../access/rights.js'
import type { NodeContext, NodeItem } from '../nodes/node.js'
import type { ProjectRegistry } from '../project/project.js'
import { AudioFlow } from './audio-flow.js'
import type { Pausable } from './pause-reasons.js'
import type { SessionTerms } from './session-terms.js'

interface ProjectTerms extends SessionTerms {
  readonly projects: ProjectRegistry
}

/** One project at work for one session: audio in, and what its nodes tell. */
export class ProjectRun {
  readonly output$: Observable<NodeItem>
  readonly #input$: Subject<NodeItem>
  readonly #flow: AudioFlow
  readonly #frameBytes: number
  readonly #facts: Facts
  readonly #updated$: Subject<undefined>

  get pendingSamples(): number {
    return this.#flow.pendingSamples
  }

  /** The model that a node asked for first. */
  get model(): string | undefined {
    return this.#facts.model
  }

  /** Refuses a tenant, project or model that is not granted, and settings that do not fit. */
  static async open(request: StartRequest, rights: Rights, terms: ProjectTerms, link: Pausable): Promise<ProjectRun> {
    const { tenant, projectName, audio } = request
    if (!isGranted(rights.tenants, tenant) || !terms.projects.hasTenant(tenant)) {
      throw new SpeechError('tenant-denied', 'The Tenant is not known here, or not granted to this subscription.')
    }
    const project = isGranted(rights.projects, projectName) ? terms.projects.find(tenant, projectName) : undefined
    if (project === undefined) {
      throw new SpeechError('project-denied', 'The project is not known here, or not granted to this subscription.')
    }
    const format: AudioFormat = { encoding: audio.encoding, sampleRateHz: audio.sampleRateHz, channels: audio.channels }
    const flow = new AudioFlow(link, 1, (terms.limits.maxPendingAudioMs * audio.sampleRateHz) / 1000)
    const facts: Facts = { settings: request.settings ?? {}, callProperties: request.callProperties ?? {} }
    const updated$ = new Subject<undefined>()
    const context: NodeContext = {
      node: project.name,
      session: {
        id: terms.watch?.facts.sessionId ?? randomUUID(),
        tenant,
        project: project.name,
        clientId: terms.watch?.facts.clientId ?? '',
      },
      inputs: { audio: format },
      outputs: {},
      language: request.language ?? '',
      audioOutput: audio.output,
      settings: () => facts.settings,
      callProperties: () => facts.callProperties,
      engine: async ({ name = project.defaultModel, ...model }) => {
        const engine = await openModel(terms.models, rights, { name, ...model })
        facts.model ??= name
        return engine
      },
      updated$: updated$.asObservable(),
      resource: () => undefined,
      recordingsFolder: undefined,
      log: (message, fields) => terms.watch?.noted(project.name, message, fields),
      consumed: (frameCount) => {
        flow.taken(0, frameCount)
      },
      idleMs: terms.limits.idleMs,
      scheduler: terms.scheduler,
    }
    const node = await project.open(context)
    const input$ = new Subject<NodeItem>()
    const output$ = node(input$, context).pipe(
      finalize(() => {
        flow.release()
      }),
    )
    return new ProjectRun(output$, input$, flow, bytesPerFrame(format), facts, updated$)
  }

  private constructor(
    output$: Observable<NodeItem>,
    input$: Subject<NodeItem>,
    flow: AudioFlow,
    frameBytes: number,
    facts: Facts,
    updated$: Subject<undefined>,
  ) {
    this.#updated$ = updated$
    this.output$ = output$
    this.#input$ = input$
    this.#flow = flow
    this.#frameBytes = frameBytes
    this.#facts = facts
  }

  /** Whole frames in the session's format. */
  audio(bytes: Uint8Array): void {
    this.#flow.given(bytes.length / this.#frameBytes)
    this.#input$.next({ type: 'audio', bytes })
  }

  update({ settings, callProperties }: UpdateRequest): void {
    this.#facts.settings = { ...this.#facts.settings, ...settings }
    this.#facts.callProperties = { ...this.#facts.callProperties, ...callProperties }
    this.#updated$.next(undefined)
  }

  /** No more audio: every node flushes, and the output completes after the last event. */
  finish(): void {
    this.#input$.complete()
  }
}

/** What an `Update` changes, and what nodes asked for. */
interface Facts {
  model?: string
  settings: Settings
  callProperties: Settings
}
