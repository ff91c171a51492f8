import { either } from 'fp-ts'
import { asyncScheduler, Subject, Subscription } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { AnyNodeDefinition, Node, NodeContext, NodeItem } from '../nodes/core/node.js'
import { Outbox } from './outbox.js'
import type { FromNodeWorker, OpenMessage, SentContext, ToNodeWorker } from './worker-messages.js'

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

/** The thread's side of one node: messages in, the node's doings out. */
export class NodeGuest {
  readonly #definitions: readonly AnyNodeDefinition[]
  readonly #say: (message: FromNodeWorker) => void
  readonly #input$ = new Subject<NodeItem>()
  readonly #updated$ = new Subject<undefined>()
  readonly #outbox: Outbox
  #opened: { readonly node: Node; readonly context: NodeContext } | undefined
  #facts: Pick<SentContext, 'settings' | 'callProperties'> = { settings: {}, callProperties: {} }
  #running = new Subscription()

  constructor(definitions: readonly AnyNodeDefinition[], say: (message: FromNodeWorker) => void) {
    this.#definitions = definitions
    this.#say = say
    this.#outbox = new Outbox({
      say: (items) => say({ type: 'said', items }),
      flooded: () => {
        this.#running.unsubscribe()
        say({ type: 'failed', kind: 'flooded', message: 'The node said more than anyone could hear.' })
      },
      empty: () => say({ type: 'completed' }),
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
      case 'items':
        for (const item of message.items) this.#input$.next(item)
        this.#say({ type: 'taken' })
        return
      case 'update':
        this.#facts = message
        this.#updated$.next(undefined)
        return
      case 'finish':
        this.#input$.complete()
        return
      case 'heard':
        this.#outbox.heard()
    }
  }

  async #open({ name, options, context }: OpenMessage): Promise<void> {
    try {
      const definition = this.#definitions.find((one) => one.name === name)
      const configured = definition?.configure(options)
      if (configured === undefined || either.isLeft(configured)) throw new Error(`There is no ${name} as asked for.`)
      this.#facts = context
      const own = this.#contextOf(context)
      this.#opened = { node: await configured.right.open(own), context: own }
      this.#say({ type: 'opened' })
    } catch (error) {
      this.#say({ type: 'refused', message: textOf(error) })
    }
  }

  #run(): void {
    if (this.#opened === undefined) return
    const { node, context } = this.#opened
    const failed = (error: unknown): void => this.#say({ type: 'failed', kind: 'threw', message: textOf(error) })
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
        const text = 'A node in a worker has no engine; put a recognizer beside it in the project.'
        return Promise.reject(new SpeechError('invalid-options', text))
      },
      consumed: (count, port) => this.#say({ type: 'consumed', count, port }),
      log: (message, fields = {}) => this.#say({ type: 'log', message, fields }),
      scheduler: asyncScheduler,
    }
  }
}
