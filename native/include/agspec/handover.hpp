// A lock between one thread that works for long, in slices, and others that ask short questions.
#pragma once

#include <atomic>
#include <mutex>

namespace agspec {

// A mutex need not be fair: a thread that unlocks it and locks it again at once mostly gets it back,
// however long another one has been waiting. This one is taken for a slice only when nobody waits,
// so that a question waits for one slice at most.
class HandoverMutex {
 public:
  // For a question.
  void lock() {
    if (mutex_.try_lock()) return;
    n_waiting_.fetch_add(1);
    mutex_.lock();
    n_waiting_.fetch_sub(1);
    n_waiting_.notify_all();
  }

  // For a slice.
  void lock_slice() {
    for (int n = n_waiting_.load(); n > 0; n = n_waiting_.load()) n_waiting_.wait(n);
    mutex_.lock();
  }

  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::atomic<int> n_waiting_ = 0;
};

// Holds the lock for a slice.
class SliceLock {
 public:
  explicit SliceLock(HandoverMutex& mutex) : mutex_(mutex) { mutex_.lock_slice(); }
  ~SliceLock() { mutex_.unlock(); }
  SliceLock(const SliceLock&) = delete;
  SliceLock& operator=(const SliceLock&) = delete;

 private:
  HandoverMutex& mutex_;
};

}  // namespace agspec
