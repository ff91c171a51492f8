import { pathToFileURL } from 'node:url'
import { isMainThread, parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { either } from 'fp-ts'
import { asyncScheduler, Subject, Subscription } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { AnyNodeDefinition, Node, NodeContext, NodeItem } from '../nodes/core/node.js'
import { nodeDefinitionsIn } from './node-definitions.js'
import { Outbox } from './outbox.js'
import type { FromNodeWorker, NodeWorkerData, OpenMessage, SentContext, ToNodeWorker } from './worker-messages.js'

/** Runs one node in the thread. */
class WorkerNodeRuntime {
  readonly #definitions: readonly AnyNodeDefinition[]
  readonly #post: (message: FromNodeWorker) => void
  readonly #input$ = new Subject<NodeItem>()
  readonly #updated$ = new Subject<undefined>()
  readonly #outbox: Outbox
  #opened: { readonly node: Node; readonly context: NodeContext } | undefined
  #facts: Pick<SentContext, 'settings' | 'callProperties'> = { settings: {}, callProperties: {} }
  #running = new Subscription()

  constructor(definitions: readonly AnyNodeDefinition[], post: (message: FromNodeWorker) => void) {
    this.#definitions = definitions
    this.#post = post
    this.#outbox = new Outbox({
      send: (items) => post({ type: 'output', items }),
      flooded: () => {
        this.#running.unsubscribe()
        post({ type: 'failed', kind: 'flooded', message: 'The node emits faster than the session can deliver.' })
      },
      empty: () => post({ type: 'completed' }),
    })
  }

  receive(message: ToNodeWorker): void {
    switch (message.type) {
      case 'open':
        void this.#open(message)
        return
      case 'run':
        this.#run()
        return
      case 'input':
        for (const item of message.items) this.#input$.next(item)
        this.#post({ type: 'processed' })
        return
      case 'update':
        this.#facts = message
        this.#updated$.next(undefined)
        return
      case 'finish':
        this.#input$.complete()
        return
      case 'delivered':
        this.#outbox.delivered()
    }
  }

  async #open({ name, options, context }: OpenMessage): Promise<void> {
    try {
      const definition = this.#definitions.find((candidate) => candidate.name === name)
      const configured = definition?.configure(options)
      if (configured === undefined || either.isLeft(configured))
        throw new Error(`There is no ${name} with such options.`)
      this.#facts = context
      const nodeContext = this.#contextOf(context)
      this.#opened = { node: await configured.right.open(nodeContext), context: nodeContext }
      this.#post({ type: 'opened' })
    } catch (error) {
      this.#post({ type: 'refused', message: textOf(error) })
    }
  }

  #run(): void {
    if (this.#opened === undefined) return
    const { node, context } = this.#opened
    const failed = (error: unknown): void => this.#post({ type: 'failed', kind: 'threw', message: textOf(error) })
    try {
      this.#running = node(this.#input$, context).subscribe({
        next: (item) => this.#outbox.push(item),
        error: failed,
        complete: () => this.#outbox.close(),
      })
    } catch (error) {
      failed(error)
    }
  }

  #contextOf({ settings: _settings, callProperties: _properties, resources, ...facts }: SentContext): NodeContext {
    return {
      ...facts,
      settings: () => this.#facts.settings,
      callProperties: () => this.#facts.callProperties,
      updated$: this.#updated$.asObservable(),
      resource: (name) => {
        const sent = Object.hasOwn(resources, name) ? resources[name] : undefined
        return sent?.kind === 'secret' ? { kind: 'secret', reveal: () => sent.secret } : sent
      },
      engine: () => {
        const text = 'A node in a worker has no engine; use a recognizer node in the project.'
        return Promise.reject(new SpeechError('invalid-options', text))
      },
      ack: (count, port) => this.#post({ type: 'ack', count, port }),
      log: (message, fields = {}) => this.#post({ type: 'log', message, fields }),
      scheduler: asyncScheduler,
    }
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

const start = async (port: MessagePort, { file }: NodeWorkerData): Promise<void> => {
  const definitions = nodeDefinitionsIn((await import(pathToFileURL(file).href)) as unknown)
  const runtime = new WorkerNodeRuntime(definitions, (message) => port.postMessage(message))
  // The port keeps messages until this listener is added.
  port.on('message', (message: ToNodeWorker) => runtime.receive(message))
}

const isNodeWorkerData = (data: unknown): data is NodeWorkerData =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'rxspeech-custom-node'

// Importing this file elsewhere has no effect.
if (!isMainThread && parentPort !== null && isNodeWorkerData(workerData)) void start(parentPort, workerData)
