import type { ClientDuplexStream, StatusObject } from '@grpc/grpc-js'
import type { Observable } from 'rxjs'
import { GrpcLink, type CallReason, type GrpcLinkOptions } from './grpc-link.js'
import type { HeardStatus } from './grpc-status.js'
import { statusError } from './grpc-status.js'
import { orderlyEndOf } from './orderly-end.js'
import type { DataflowMessage } from '../link.js'

/** The client's end of a call. A client cannot say why it ends one: in good order it half-closes, else it cancels. */
export class GrpcClientLink extends GrpcLink {
  constructor(
    private readonly call: ClientDuplexStream<DataflowMessage, DataflowMessage>,
    limits: Required<GrpcLinkOptions>,
    readonly leaving: Observable<void>,
    heard: (status: StatusObject) => HeardStatus,
  ) {
    super(call, limits)
    call.once('status', (status: StatusObject) => {
      const over = (): void =>
        this.callOver(statusError(heard(status), limits.maxMessageBytes) ?? orderlyEndOf(status.metadata))
      // What the call has read ahead comes first. `end` follows it, but never comes while reading is stopped.
      if (call.readableLength === 0) over()
      else call.once('end', over)
    })
  }

  /**
   * A pause alone does not stop the reading, only what it makes pile up: when a status other than OK arrives, the gRPC
   * package drops every message that was not read by then.
   */
  protected override get shouldStopReading(): boolean {
    return this.inbox.isOverLimit
  }

  finish(): void {
    if (this.state !== 'open') return
    this.state = 'finished'
    this.call.end()
  }

  protected endCall(reason: CallReason | undefined): void {
    if (reason === undefined) this.call.end()
    else this.whenTaken(() => this.call.cancel())
  }

  protected abortCall(): void {
    this.call.cancel()
  }
}
