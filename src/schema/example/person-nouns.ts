const PEOPLE = new Set(
  (
    "person,user,customer,client,guest,patient,passenger,employee,member,contact,author,owner,student,teacher,doctor,driver,follower,candidate,subscriber,attendee,manager,coach,actor,approver,interviewer," +
    "applicant,tenant,landlord,borrower,supervisor,instructor,nurse,technician,lawyer,attorney,donor,volunteer,spouse,player,singer,agent,staff,worker,colleague,recruiter,moderator,visitor,caller,policyholder,dentist," +
    "therapist,physician,specialist,traveler,traveller,assignee,reviewer,reporter,creator,organizer,participant,director,professor,tutor,trainer,salesperson,broker,realtor,cashier,librarian,witness,sibling,friend"
  ).split(","),
);

/** Whether the last word of a noun denotes a person. */
export function isPersonNoun(noun: string): boolean {
  return PEOPLE.has(noun.slice(noun.lastIndexOf("_") + 1));
}
