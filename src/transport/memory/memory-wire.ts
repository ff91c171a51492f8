import type { SchedulerLike, Subscription } from 'rxjs'

interface UnderWay<T> {
  readonly parcel: T
  readonly sizeBytes: number
  readonly dueMs: number
}

/** One direction of a connection in memory: hands on in order, at once or so much later, with one timer at a time. */
export class MemoryWire<T> {
  private underWay: UnderWay<T>[] = []
  private sizeBytes = 0
  private timer: Subscription | undefined

  constructor(
    private readonly latencyMs: number,
    private readonly scheduler: SchedulerLike,
    private readonly arrive: (parcel: T) => void,
  ) {}

  get bytesUnderWay(): number {
    return this.sizeBytes
  }

  carry(parcel: T, sizeBytes: number): void {
    if (this.latencyMs === 0) {
      this.arrive(parcel)
      return
    }
    this.underWay.push({ parcel, sizeBytes, dueMs: this.scheduler.now() + this.latencyMs })
    this.sizeBytes += sizeBytes
    this.timer ??= this.scheduler.schedule(() => this.arriveDue(), this.latencyMs)
  }

  private arriveDue(): void {
    const nowMs = this.scheduler.now()
    const later = this.underWay.findIndex(({ dueMs }) => dueMs > nowMs)
    const due = later === -1 ? this.underWay : this.underWay.slice(0, later)
    this.underWay = later === -1 ? [] : this.underWay.slice(later)
    const next = this.underWay[0]
    this.timer = next && this.scheduler.schedule(() => this.arriveDue(), next.dueMs - nowMs)
    for (const { parcel, sizeBytes } of due) {
      this.sizeBytes -= sizeBytes
      this.arrive(parcel)
    }
  }
}
